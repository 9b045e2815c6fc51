"""Subwords: byte-pair encoding over UTF-8 bytes, one joint vocabulary for both languages (arXiv:1508.07909).

The pieces are merged from bytes, so any Unicode text survives the round trip and nothing is ever unknown. Nothing in a
text is taken for a sign: `</s>` is four characters. The first ids are PAD, START and END, whose names hold a space,
which no piece can.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from weft.errors import WeftError
from weft.models.sequence_to_sequence import END, PAD, START

SIGNS = ("the pad", "the start", "the end", "the unused")
assert (PAD, START, END) == (0, 1, 2)


class Tokeniser:
    """text → ids and back. `encode` ends in END; `decode` stops at it."""

    def __init__(self, pieces: Tokenizer):
        self.pieces = pieces

    def __len__(self) -> int:
        return int(self.pieces.get_vocab_size())

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int) -> "Tokeniser":
        learner = Tokenizer(models.BPE())
        learner.pre_tokenizer = _words()
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        size = vocabulary - len(SIGNS)
        trainer = trainers.BpeTrainer(
            vocab_size=size, initial_alphabet=alphabet, special_tokens=[], show_progress=False, max_token_length=64
        )
        learner.train_from_iterator((" " + text for text in texts), trainer)
        learned = json.loads(learner.to_str())["model"]
        if len(learned["vocab"]) < size:
            raise WeftError(
                f"a vocabulary of {vocabulary} subwords is more than the text supports: it has "
                f"{len(learned['vocab']) + len(SIGNS)}. Set vocabulary={len(learned['vocab']) + len(SIGNS)} or less."
            )
        vocab = {sign: i for i, sign in enumerate(SIGNS)}
        vocab |= {piece: i + len(SIGNS) for piece, i in learned["vocab"].items()}
        return cls(_assembled(vocab, [tuple(merge) for merge in learned["merges"]]))

    @classmethod
    def load(cls, file: Path) -> "Tokeniser":
        try:
            learned = json.loads(file.read_text(encoding="utf-8"))
            merges = [tuple(merge) for merge in learned["merges"]]
            vocab = {piece: i for i, piece in enumerate(learned["pieces"])}
            return cls(_assembled(vocab, merges))
        except FileNotFoundError:
            raise WeftError(f"{file} is missing.") from None
        except Exception as error:  # the tokenizers library raises plain Exception
            raise WeftError(f"{file} is not a tokeniser that weft wrote: {error}") from None

    def save(self, file: Path) -> None:
        """Pieces in the order of their ids, merges in the order they were learned."""
        learned = json.loads(self.pieces.to_str())["model"]
        pieces = sorted(learned["vocab"], key=learned["vocab"].__getitem__)
        file.write_text(json.dumps({"pieces": pieces, "merges": learned["merges"]}, ensure_ascii=False), "utf-8")

    def encode(self, text: str) -> list[int]:
        return self.encode_all([text])[0]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        try:
            return [[*e.ids, END] for e in self.pieces.encode_batch_fast([" " + text for text in texts])]
        except (TypeError, UnicodeEncodeError):
            bad = next(text for text in texts if not _is_unicode(text))
            raise WeftError(f"a text that is not Unicode (a lone surrogate): {bad!r}.") from None

    def decode(self, ids: Iterable[int]) -> str:
        words = []
        for i in ids:
            if i == END:
                break
            if i >= len(SIGNS):
                words.append(i)
        return str(self.pieces.decode(words, skip_special_tokens=False)).removeprefix(" ")

    def readable(self, ids: Iterable[int]) -> list[str]:
        """Each piece as a person may see it: words begin with ·, an end is ∎, a lone byte is its hex."""
        return [self._readable[i] for i in ids]

    @cached_property
    def _readable(self) -> list[str]:
        seen = []
        for i in range(len(self)):
            if i < len(SIGNS):
                seen.append(("", "∅", "∎", "?")[i])
                continue
            text = self.pieces.decode([i], skip_special_tokens=False)
            piece = self.pieces.id_to_token(i)
            seen.append(f"<{_byte(piece):02X}>" if "�" in text and len(piece) == 1 else text.replace(" ", "·"))
        return seen


def _words() -> pre_tokenizers.PreTokenizer:
    """Words with the space before them, runs of digits, runs of punctuation; every byte as one visible character."""
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def _assembled(vocab: dict[str, int], merges: list[tuple[str, ...]]) -> Tokenizer:
    pieces = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    pieces.pre_tokenizer = _words()
    pieces.decoder = decoders.ByteLevel()
    return pieces


def _byte(character: str) -> int:
    """The byte that the byte-level alphabet shows as this character: printable ones as they are, the rest from U+0100."""
    hidden = [*range(0x21), *range(0x7F, 0xA1), 0xAD]
    return hidden[ord(character) - 256] if ord(character) >= 256 else ord(character)


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)

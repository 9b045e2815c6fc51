"""A trained model at work: text in, text out. The command line, the service and Python all use this one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import accumulate, islice
from pathlib import Path

import torch

from weft.data.batches import filled
from weft.data.corpus import Corpus
from weft.data.sentences import Piece, split_long, split_sentences
from weft.data.tokeniser import Tokeniser
from weft.decoding import Beam, Hypothesis, Search, best_first, search_all
from weft.errors import WeftError
from weft.evaluation.perplexity import token_loss
from weft.folder import Folder
from weft.models.sequence_to_sequence import START, SequenceToSequence
from weft.viewing.alignment import Aligner, Seen, choose, known_or_usual, words, written_from
from weft.viewing.attention_heads import Head, Without
from weft.viewing.attention_maps import AttentionMaps, Recorder, check_head, heads_of
from weft.viewing.search import SearchTree, search_tree

AT_A_TIME = 1024  # texts that are sorted by length and translated together
ALIGNED = 200  # pairs that a head is chosen on


@dataclass(frozen=True)
class Translation:
    """One translation of a text, and how the model rates it."""

    text: str
    score: float  # log P / |Y|^α; of a text in several pieces, their mean
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    log_probs: tuple[float, ...]  # of each token
    finished: bool  # False: cut by the limit on its length

    def to_dict(self) -> dict[str, object]:
        return {
            "text": self.text,
            "score": self.score,
            "tokens": list(self.tokens),
            "log_probs": list(self.log_probs),
            "finished": self.finished,
        }


def load(names: str | Path, device: str = "cpu") -> "Translator":
    """A model by the name it ships under or its run folder; several with commas between them vote."""
    each = [names] if isinstance(names, Path) else names.split(",")
    return Translator([Folder.find(name) for name in each], device)


class Translator:
    """One model, or several with one vocabulary that vote."""

    def __init__(self, folders: Sequence[Folder], device: str = "cpu"):
        tokenisers = [folder.tokeniser() for folder in folders]
        for folder, tokeniser in zip(folders[1:], tokenisers[1:]):
            if tokeniser.pieces.to_str() != tokenisers[0].pieces.to_str():
                raise WeftError(
                    f"{folder.path} and {folders[0].path} have different subwords, and models that vote need the same: "
                    "train the second with --from the first, or from the same data."
                )
        self.folders = folders
        self.device = device
        self.models: list[SequenceToSequence] = [folder.model(device) for folder in folders]
        self.tokeniser: Tokeniser = tokenisers[0]
        self.languages = folders[0].languages()
        self.limit = min(_longest_source(folder, model) for folder, model in zip(folders, self.models))

    def __repr__(self) -> str:
        return f"weft.load({','.join(folder.name for folder in self.folders)!r})"

    def translate(
        self, texts: list[str] | tuple[str, ...], *, beam: int = 5, length_penalty: float = 1.0, split: bool = False
    ) -> list[str]:
        """The best translation of each text. An empty text has an empty one."""
        if isinstance(texts, str):  # type: ignore[unreachable]  # where no type checker has said it
            raise WeftError(f"translate takes a list of texts: translate([{texts!r}]).")
        search = best_first(beam, length_penalty)
        return [found[0].text for found in self.search(texts, search, split=split)]

    def search(
        self, texts: Iterable[str], search: Search, *, split: bool = False, too_long: str = "split", first: int = 1
    ) -> Iterator[list[Translation]]:
        """For each text its translations, best first.

        `split` cuts every text into sentences first. A text longer than the model allows is cut so in any case, or is
        an error where `too_long` is "error"; white space between the pieces is kept. Errors count texts from `first`.
        """
        stream = iter(enumerate(texts, first))
        while some := list(islice(stream, AT_A_TIME)):
            cut = [self.cut(text, f"line {number}", split=split, too_long=too_long) for number, text in some]
            found = iter(self._found([piece for pieces in cut for piece in texts_of(pieces)], search))
            for pieces in cut:
                yield joined(pieces, list(islice(found, len(texts_of(pieces)))))

    def cut(self, text: str, where: str, *, split: bool, too_long: str = "split") -> list[Piece]:
        """A text as pieces that the model allows; errors say `where` it stands."""
        _check_text(text, where)

        def fits(piece: str) -> bool:
            return len(self.tokeniser.encode(piece)) <= self.limit

        sentences = split_sentences(text) if split else [(text, "")]
        if all(fits(sentence) for sentence, _ in sentences):
            return sentences
        if too_long == "error":
            longest = max(len(self.tokeniser.encode(sentence)) for sentence, _ in sentences)
            raise WeftError(
                f"{where} has {'a sentence of ' if split else ''}{longest} tokens, and this model allows "
                f"{self.limit}; --too-long split cuts it into pieces."
            )
        pieces = [p for sentence, space in split_sentences(text) for p in _closed(split_long(sentence, fits), space)]
        for piece, _ in pieces:
            if not fits(piece):
                raise WeftError(
                    f"{where} has a character, {piece!r}, of more tokens than the {self.limit} that this model allows."
                )
        return pieces

    def _found(self, texts: Sequence[str], search: Search) -> list[list[Translation]]:
        found = search_all(search, self.models, self.tokeniser.encode_all(texts))
        return [[self.translation(one) for one in some] for some in found]

    def translation(self, one: Hypothesis) -> Translation:
        tokens = tuple(self.tokeniser.readable(one.ids))
        return Translation(self.tokeniser.decode(one.ids), one.score, one.ids, tokens, one.log_probs, one.finished)

    def loss(self, pairs: Sequence[tuple[str, str]]) -> tuple[float | None, int]:
        """Mean negative log-likelihood of a target token, in nats; models that vote are one, as in decoding.

        Pairs that are longer than the positions have none. They are left out, and how many is the second number.
        """
        encoded = zip(*(self.tokeniser.encode_all([pair[side] for pair in pairs]) for side in (0, 1)))
        known = [[limit or 10**9 for limit in model.limits] for model in self.models]
        fitting = [(s, t) for s, t in encoded if all(len(s) <= most_s and len(t) <= most_t for most_s, most_t in known)]
        return token_loss(self.models, fitting) if fitting else None, len(pairs) - len(fitting)

    @torch.inference_mode()
    def attention(
        self, text: str, target: str | Sequence[int] | None = None, off: Iterable[Head] = ()
    ) -> AttentionMaps:
        """What the (first) model looks at while it reads a text and writes its translation, or the given one: a text,
        or the `ids` of what was looked at before.

        Heads that are `off` say nothing, neither to the search nor to whoever looks: `off=[Head("cross", 2, 1)]`.
        """
        model, source, silent = self.models[0], filled([self._whole(text)]).to(self.device), self.existing(off)
        if target is None:
            target = Without(Beam(), silent)(self.models, source)[0][0].ids
        ids = self._whole(target, "the target") if isinstance(target, str) else list(target)
        recorder = Recorder(silent)
        memory = model.encode(source, recorder)
        hidden = model.decode(filled([[START, *ids[:-1]]]).to(self.device), memory, watch=recorder)  # (1, T, D)
        log_probs = model.head.log_probs(hidden[0])[range(len(ids)), ids]  # (T)
        return AttentionMaps(
            self.folders[0].name,
            text,
            self.tokeniser.readable(source[0].tolist()),
            self.tokeniser.readable(ids),
            self.tokeniser.decode(ids),
            log_probs.tolist(),
            recorder.maps(),
            ids=tuple(ids),
            off=silent,
            seen={key: value for key, value in recorder.seen.items() if key[1] != "weights"},
        )

    @cached_property
    def aligner(self) -> Aligner:
        """The head of the (first) model that aligns words."""
        return known_or_usual(self.folders[0].about().get("aligner"), self.heads["cross"])

    def align(self, text: str, ids: Sequence[int]) -> list[list[float]]:
        """How much each word of a translation was written from each word of its text, both between white space:
        (target words, source words)."""
        if not self.heads["cross"]:
            raise WeftError("this model has no encoder-decoder attention: it cannot say which word comes from which.")
        return self.aligner.weights(self._seen(self.tokeniser.encode(text), ids))

    def beginnings(self, text: str, ids: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[int | None]:
        """For each span of characters of a text, which token of its translation begins the word that was written from
        it; None where no word was."""
        if not self.heads["cross"]:
            return [None for _ in spans]
        source, written = self.tokeniser.encode(text), self.tokeniser.characters(ids)
        each = replace(self._seen(source, ids), source=range(len(source)), target=range(len(ids) - 1))
        weights = self.aligner.weights(each)
        ends = [*accumulate(map(len, self.tokeniser.characters(source)), initial=-1)]  # with the space before the text
        found = []
        for start, end in spans:
            held = [i for i in range(len(source)) if ends[i] < end and ends[i + 1] > start]
            at = written_from(held, weights)
            while at and ids[at] in self.tokeniser.inner and written[at - 1][-1:].isalnum():
                at -= 1
            found.append(at)
        return found

    def choose_aligner(self, pairs: Sequence[tuple[str, str]]) -> Aligner:
        """The head that aligns these pairs best, which the model has not learned from."""
        encode = self.tokeniser.encode
        return choose(pairs, [self._seen(encode(source), encode(target)) for source, target in pairs])

    @torch.inference_mode()
    def _seen(self, source: Sequence[int], target: Sequence[int]) -> Seen:
        model, recorder, characters = self.models[0], Recorder(), self.tokeniser.characters
        memory = model.encode(filled([source]).to(self.device), recorder)
        model.decode(filled([[START, *target[:-1]]]).to(self.device), memory, watch=recorder)
        return Seen(recorder.maps()["cross"], words(characters(source)), words(characters(target)))

    def search_tree(self, text: str, *, beam: int = 5, length_penalty: float = 1.0) -> SearchTree:
        """How a beam search came to its translation: every candidate of every step."""
        source = filled([self._whole(text)]).to(self.device)
        return search_tree(self.models, self.tokeniser, source, Beam(beam, length_penalty))

    def _whole(self, text: str, which: str = "the sentence") -> list[int]:
        """One text that is looked at as a whole."""
        _check_text(text, which)
        if not text.strip():
            raise WeftError(f"{which} is empty: there is nothing to look at.")
        ids = self.tokeniser.encode(text)
        if len(ids) > self.limit:
            raise WeftError(f"a sentence of {len(ids)} tokens, and this model allows {self.limit}.")
        return ids

    def existing(self, heads: Iterable[Head]) -> tuple[Head, ...]:
        """These heads, each once, if there are such."""
        found = tuple(dict.fromkeys(heads))
        for head in found:
            check_head(head, self.heads)
        return found

    @cached_property
    def heads(self) -> dict[str, tuple[int, ...]]:
        """How many heads each layer of the (first) model has, of each kind of attention."""
        return heads_of(self.models[0])


def note_aligner(folder: Folder) -> None:
    """Find out, on pairs that a run was validated on, which head aligns words best, and note it in its folder."""
    translator = Translator([folder])
    if not translator.heads["cross"]:
        return  # none does
    decode = translator.tokeniser.decode
    valid = islice(Corpus(folder.path / "tokens" / "valid"), ALIGNED)
    chosen = translator.choose_aligner([(decode(source.tolist()), decode(target.tolist())) for source, target in valid])
    folder.note(aligner=asdict(chosen))


def _check_text(text: object, where: str) -> None:
    if not isinstance(text, str):
        raise WeftError(f"{where} is {text!r}; a text is wanted.")


def _longest_source(folder: Folder, model: SequenceToSequence) -> int:
    """In tokens. Where positions know no limit, what was trained on is one: beyond it a model has seen nothing."""
    return min(model.limits[0] or 10**9, folder.plan().training.longest)


def _closed(pieces: list[Piece], space: str) -> list[Piece]:
    """Pieces of one sentence, the last followed by the white space that followed the sentence."""
    *rest, (last, between) = pieces or [("", "")]
    return [*rest, (last, between + space)]


def texts_of(pieces: Sequence[Piece]) -> list[str]:
    """The pieces that there is something to translate in."""
    return [piece for piece, _ in pieces if piece.strip()]


def joined(pieces: Sequence[Piece], found: Sequence[list[Translation]]) -> list[Translation]:
    """What was found for the texts of some pieces, as translations of the whole: the i-th best of it is the i-th best
    of each."""
    if len(pieces) == len(found) == 1 and not pieces[0][1]:
        return found[0]
    each = iter(found)
    rows = [(next(each) if piece.strip() else None, space) for piece, space in pieces]
    options = max(map(len, found), default=1)
    return [
        _one([(some[min(i, len(some) - 1)] if some else None, space) for some, space in rows]) for i in range(options)
    ]


def _one(pieces: Sequence[tuple[Translation | None, str]]) -> Translation:
    made = [one for one, _ in pieces if one]
    return Translation(
        "".join((one.text if one else "") + space for one, space in pieces) if made else "",
        sum(one.score for one in made) / max(1, len(made)),
        tuple(i for one in made for i in one.ids),
        tuple(token for one in made for token in one.tokens),
        tuple(value for one in made for value in one.log_probs),
        all(one.finished for one in made),
    )

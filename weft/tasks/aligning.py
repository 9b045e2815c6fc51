"""What a predictor for pairs of texts says about their words: which was written from which, and which heads know it."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.data.codecs import Subwords
from weft.data.reading import has_tables, read_lines
from weft.errors import WeftError
from weft.parts.batching import Row
from weft.parts.call import Watch
from weft.tasks.alignment import (
    Aligner,
    Seen,
    agreement,
    choose,
    known_or_usual,
    links,
    read_pharaoh,
    words,
    written_from,
)
from weft.tasks.predictor import Writing
from weft.viewing.attention_heads import Head
from weft.viewing.attention_maps import Recorder


class Aligning(Writing):
    """A predictor that turns one text into another."""

    codec: Subwords

    @property
    def tokeniser(self) -> Subwords:
        return self.codec

    @abstractmethod
    def translate(self, texts: list[str] | tuple[str, ...], *, beam: int) -> list[str]:
        """The best translation of each text."""

    @abstractmethod
    def _read(self, source: Sequence[int], target: Sequence[int], watch: Watch) -> Tensor:
        """The hidden states (T, D) from which the (first) model predicts the target tokens, in a watched pass."""

    @cached_property
    def aligner(self) -> Aligner:
        """The head of the (first) model that aligns words."""
        return known_or_usual(self.folders[0].about().get("aligner"), self.heads["cross"])

    def align(self, text: str, ids: Sequence[int], off: Iterable[Head] = ()) -> list[list[float]]:
        """How much each word of a translation was written from each word of its text, split at white space:
        (target words, source words). Some heads may be off."""
        if not self.heads["cross"]:
            raise WeftError("this model has no encoder-decoder attention: it cannot say which word comes from which.")
        return self.aligner.weights(self._seen(self.tokeniser.encode(text), ids, self.existing(off)))

    def beginnings(self, text: str, ids: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[int | None]:
        """For each span of characters of a text, the token of its translation that begins the word written from it;
        None if there is none."""
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
        """The head that aligns these held-out pairs best."""
        encode = self.tokeniser.encode
        return choose(pairs, [self._seen(encode(source), encode(target)) for source, target in pairs])

    @torch.inference_mode()
    def _seen(self, source: Sequence[int], target: Sequence[int], off: Iterable[Head] = ()) -> Seen:
        recorder, characters = Recorder(off), self.codec.characters
        self._read(source, target, recorder)
        return Seen(recorder.maps()["cross"], words(characters(source)), words(characters(target)))

    def read(self, file: Path) -> Iterable[Any]:
        """Pairs from a table; of plain text, each line that has a text."""
        return super().read(file) if has_tables([file]) else (line for line in read_lines(file) if line.strip())

    def completed(self, examples: Sequence[Any]) -> Sequence[Any]:
        """Pairs; a text alone gets the model's own translation, by greedy search."""
        alone = [each for each in examples if isinstance(each, str)]
        own = iter(self.translate(alone, beam=1))
        return [(each, next(own)) if isinstance(each, str) else each for each in examples]

    def agreeing(
        self, rows: Sequence[tuple[int, Row]], links_file: Path | None
    ) -> tuple[str, Callable[[int, Tensor], Tensor]] | None:
        """What alignments are compared with, and `agreement` for the cross-attention (N, H, T, S) of a row: with the
        links of a file that has a line for each example, or with the aligner."""
        if not self.heads["cross"]:
            return None
        gold = None if links_file is None else read_pharaoh(links_file)
        if gold is not None and len(gold) <= rows[-1][0]:
            raise WeftError(f"{links_file} has {len(gold)} lines for at least {rows[-1][0] + 1} pairs.")

        def agree(number: int, cross: Tensor) -> Tensor:
            source, target = (np.asarray(ids).tolist() for ids in rows[number][1])
            of_words = (words(self.codec.characters(ids)) for ids in (source, target))
            seen = Seen(cross[..., : len(target), : len(source)], *of_words)
            return agreement(seen, links(self.aligner.weights(seen)) if gold is None else gold[rows[number][0]])

        return ("the model's own aligner" if links_file is None else links_file.name), agree

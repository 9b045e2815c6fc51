"""A trained model that translates: text in, text out."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from weft.data.batches import pad
from weft.data.codecs import Subwords
from weft.data.languages import Languages
from weft.data.pairs import batch_of, batches_of
from weft.data.reading import read_pairs
from weft.data.texts import Texts, Translation, check_text, translation_of
from weft.decoding import Beam, Greedy, Hypothesis, Search, best_first, numbers, search_all
from weft.decoding.prompt import Prompt, from_source
from weft.defaults import BEAM_WIDTH, LENGTH_PENALTY
from weft.errors import WeftError
from weft.evaluation.perplexity import perplexity, row_losses, token_loss
from weft.evaluation.report import Report
from weft.evaluation.scores import BLEU, PERPLEXITY, Score, bleu_metric, chrf, scored
from weft.folder import Folder
from weft.models.base import Generative
from weft.parts.batching import Row
from weft.parts.call import Call, Watch
from weft.tasks.aligning import Aligning
from weft.viewing.attention_maps import AttentionMaps, Recorder
from weft.viewing.search import SearchTree, search_tree
from weft.viewing.what_if import NOTHING, WhatIf


class Translator(Texts[Search], Aligning):
    """One model that translates, or an ensemble of several."""

    verb = "translate"
    routes = ("libretranslate", "translate", "inside", "run", "pairs", "model")
    example = "The animal didn't cross the street because it was too tired."
    beside = "Thank you."
    traces = ("run", "search", "pairs", "next")
    codec: Subwords
    models: Sequence[Generative]

    def __init__(self, folders: Sequence[Folder], device: str = "cpu"):
        super().__init__(folders, device)
        self.languages = languages_of(folders[0])
        self.limit = min(_longest_source(folder, model) for folder, model in zip(folders, self.models))
        self._known = {}

    @property
    def tokeniser(self) -> Subwords:
        return self.codec

    def prompt(self, sources: Sequence[Sequence[int]]) -> Prompt:
        """The prompt for sources, as ids, that are translated together."""
        special = self.codec.special
        return from_source(self.models, pad(sources).to(self.device), special.start, special.end)

    def prompt_of(self, row: Row) -> Prompt:
        return self.prompt([np.asarray(row[0]).tolist()])

    def row_of(self, prompt: Prompt, ids: Sequence[int]) -> Row:
        return prompt.inputs["source"][0].tolist(), ids

    def write_together(self, prompts: Sequence[Prompt]) -> list[Hypothesis]:
        sources = [prompt.inputs["source"][0].tolist() for prompt in prompts]
        return [found[0] for found in Greedy()(self.models, self.prompt(sources))]

    def translate(
        self,
        texts: list[str] | tuple[str, ...],
        *,
        beam: int = BEAM_WIDTH,
        length_penalty: float = LENGTH_PENALTY,
        split: bool = False,
    ) -> list[str]:
        """The best translation of each text; empty for an empty text."""
        if isinstance(texts, str):  # type: ignore[unreachable]  # in code without a type checker
            raise WeftError(f"translate takes a list of texts: translate([{texts!r}]).")
        search = best_first(beam, length_penalty)
        return [found[0].text for found in self.search(texts, search, split=split, rated=0)]

    def compute(self, texts: Sequence[str], search: Search) -> list[list[Translation]]:
        special = self.codec.special
        found = search_all(search, self.models, self.encode_all(texts), special.start, special.end, self.device)
        return [[self.translation(one) for one in some] for some in found]

    def best_first(self, search: Search) -> tuple[int, float] | None:
        return numbers(search)

    def translation(self, one: Hypothesis) -> Translation:
        return translation_of(self.tokeniser, one.ids, one.log_probs, one.score, one.finished)

    def loss(self, pairs: Sequence[tuple[str, str]]) -> tuple[float, int]:
        """Mean negative log-likelihood of a target token, in nats; several models are an ensemble, as in decoding.

        Pairs longer than the positions are left out; the second number is their count. The first is nan if none remain.
        """
        encoded = list(zip(*(self.codec.encode_all([pair[side] for pair in pairs]) for side in (0, 1))))
        fitting = [row for row in encoded if all(self._fits(model, row) for model in self.models)]
        batches = batches_of(fitting, self.codec.special.start)
        return token_loss(self.models, batches) if fitting else math.nan, len(pairs) - len(fitting)

    def _fits(self, model: Generative, row: Sequence[Sequence[int]]) -> bool:
        return all(limit is None or len(ids) <= limit for limit, ids in zip(model.limits.values(), row))

    def losses(self, rows: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[float]:
        """The negative log-likelihood of the target of each pair of ids."""
        return row_losses(self.models, batch_of(rows, self.codec.special.start))

    def evaluate(
        self, pairs: Sequence[tuple[str, str]], search: Search, *, lowercase: bool = False, tokenize: str = "13a"
    ) -> Report:
        """Translate a test set and score it."""
        if not pairs:
            raise WeftError("nothing to score: the files are empty.")
        metric = bleu_metric(lowercase, tokenize)
        sources, references = [source for source, _ in pairs], [target for _, target in pairs]
        began = time.perf_counter()
        translations = [found[0].text for found in self.search(sources, search, rated=0)]
        seconds = time.perf_counter() - began
        loss, left_out = self.loss(pairs)
        scores = (
            scored(BLEU, metric, translations, references),
            chrf(translations, references, lowercase=lowercase),
            Score(PERPLEXITY, perplexity(loss)),
        )
        notes = ["perplexity is per subword token, the end counted, without smoothing"]
        if engine := self.engine_for(search):
            notes.insert(0, f"translated by {engine.name}; perplexity by torch in float32")
        if left_out:
            notes.append(f"perplexity leaves out {left_out} of {len(pairs)} pairs: longer than the model's positions")
        return Report(scores, tuple(notes), len(pairs), "sentences", left_out, seconds, translations)

    def score_files(  # type: ignore[override]
        self,
        *,
        source: Path,
        reference: Path | None = None,
        columns: str | None = None,
        languages: str | None = None,
        lowercase: bool = False,
        tokenize: str = "13a",
        beam: int = BEAM_WIDTH,
        length_penalty: float = LENGTH_PENALTY,
    ) -> Report:
        """Translate the test set in these files and score it."""
        files = [source] if reference in (None, source) else [source, reference]
        reading = read_pairs(files, columns=columns, languages=languages or self.languages)
        found = self.evaluate(list(reading), best_first(beam, length_penalty), lowercase=lowercase, tokenize=tokenize)
        if reading.languages and reading.sources[0].languages == reading.languages[::-1] and reference:
            note = f"read as {' → '.join(reading.languages)}: {source} has the references"
            return replace(found, notes=(note, *found.notes))
        return found

    @torch.inference_mode()
    def attention(
        self, text: str, target: str | Sequence[int] | None = None, what_if: WhatIf = NOTHING
    ) -> AttentionMaps:
        """The attention of the (first) model to a text and its translation: its own, or the given one as a text or ids.
        Changes hold in the search too: `WhatIf(off=[Head("cross", 2, 1)])`."""
        source = self._changed(text, what_if)
        ids = self._whole(target, "the target") if isinstance(target, str) else target
        if ids is None or what_if.force:
            beginning = self._beginning(source, Beam(), what_if, ids)
            ids = self._written(source, Beam(), what_if, beginning)
        recorder = Recorder(what_if.off)
        hidden = self._read(source, ids, recorder)  # (T, D)
        log_probs = what_if.tempered(self.models[0].head.log_probs(hidden))[range(len(ids)), ids]  # (T)
        return AttentionMaps(
            self.folders[0].name,
            text,
            self.tokeniser.in_text(source),
            self.tokeniser.in_text(ids),
            self.tokeniser.decode(ids),
            log_probs.tolist(),
            recorder.maps(),
            ids=tuple(ids),
            what_if=what_if,
            seen={key: value for key, value in recorder.seen.items() if key[1] != "weights"},
            read={"source": tuple(source), "target": (self.codec.special.start, *ids[:-1])},
            hidden=hidden,
            hash=self.hash,
            targets=tuple(ids),
        )

    def _changed(self, text: str, what_if: WhatIf) -> list[int]:
        """The ids of a text that is not split, with what replaces its tokens."""
        self.existing(what_if.off)
        ids = self._whole(text)
        return self._fitting(what_if.replaced(self.tokeniser, ids), "the sentence") if what_if.replace else ids

    def _beginning(
        self, source: Sequence[int], beam: Beam, what_if: WhatIf, target: Sequence[int] | None = None
    ) -> list[int]:
        """What is written up to the last forced token."""
        return what_if.beginning(self.tokeniser, partial(self._written, source, beam, what_if), target)

    def _written(
        self, source: Sequence[int], beam: Beam, what_if: WhatIf, beginning: Sequence[int] = ()
    ) -> Sequence[int]:
        """The best translation that begins so."""
        return beam(self.models, self.prompt([source]), what_if.watch(beginning))[0][0].ids

    def _read(self, source: Sequence[int], target: Sequence[int], watch: Watch) -> Tensor:
        """The hidden states (T, D) from which the (first) model predicts the target tokens, in a watched pass."""
        inputs = batch_of([(source, target)], self.codec.special.start).to(self.device).inputs
        return self.models[0].hidden(inputs, Call(watch=watch))[0]

    def search_tree(
        self,
        text: str,
        what_if: WhatIf = NOTHING,
        *,
        beam: int = BEAM_WIDTH,
        length_penalty: float = LENGTH_PENALTY,
    ) -> SearchTree:
        """The tree of a beam search: every candidate of every step."""
        source, search = self._changed(text, what_if), Beam(beam, length_penalty)
        watch = what_if.watch(self._beginning(source, search, what_if))
        return search_tree(self.models, self.codec, self.prompt([source]), search, watch)

    def _whole(self, text: str, which: str = "the sentence") -> list[int]:
        """The ids of a text that is not split."""
        check_text(text, which)
        if not text.strip():
            raise WeftError(f"{which} is empty.")
        return self._fitting(self.tokeniser.encode(text), which)

    def _fitting(self, ids: list[int], which: str) -> list[int]:
        if len(ids) < 2:  # the end alone
            raise WeftError(f"{which} is empty.")
        if len(ids) > self.limit:
            raise WeftError(f"{which} has {len(ids)} tokens; this model allows {self.limit}.")
        return ids


def languages_of(folder: Folder) -> Languages | None:
    """The direction that a model folder records."""
    match folder.about().get("languages"):
        case [str() as source, str() as target]:
            return source, target
    return None


def _longest_source(folder: Folder, model: Generative) -> int:
    """The most tokens of a source: no more than the positions allow, or than training pairs had."""
    return min(limit for limit in (model.limits["source"], folder.plan().training.longest) if limit is not None)

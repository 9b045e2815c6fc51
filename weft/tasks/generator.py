"""A trained language model that continues texts."""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.data.batches import pad
from weft.data.codecs import TextCodec
from weft.data.documents import Passage, read_documents
from weft.decoding import Beam, Hypothesis
from weft.decoding.continuous import Continuation, Continuous, greedy_together
from weft.decoding.prompt import Prompt
from weft.decoding.sampling import Sampling
from weft.defaults import TEMPERATURE
from weft.errors import WeftError, unknown
from weft.evaluation.perplexity import log_likelihoods, perplexity
from weft.evaluation.report import Report
from weft.evaluation.scores import BITS_PER_BYTE, BITS_PER_CHARACTER, LOSS, PERPLEXITY, Score
from weft.folder import Folder
from weft.models.base import IGNORED, Batch, Generative
from weft.parts.batching import Row
from weft.parts.call import Call
from weft.parts.mixer import Mixer
from weft.plans.catalogues import BATCHINGS
from weft.tasks.predictor import Writing
from weft.tasks.writer import Completion, Writer
from weft.viewing.attention_heads import Head, HeadsOff
from weft.viewing.attention_maps import AttentionMaps, Recorder
from weft.viewing.lens import RatedToken, steps
from weft.viewing.what_if import NOTHING, WhatIf

POSITIONS = 8192  # in a batch that is rated
MOST_TOKENS = 200  # that are written by default
LOOKED_AT = 16  # tokens that are written to be looked at
OPTIONS = (*Sampling.__dataclass_fields__, "max_tokens", "seed", "stop", "n", "alternatives", "off")
EXAMPLES = ("Once upon a time, ", "The ", "the ", "")  # the first that has only known characters is shown


class Generator(Writing):
    """One language model, or an ensemble of several."""

    verb = "generate"
    routes = ("openai", "tokeniser", "inside", "run", "model")
    traces = ("run", "next", "surprise", "complete")
    codec: TextCodec
    models: Sequence[Generative]

    def __init__(self, folders: Sequence[Folder], device: str = "cpu"):
        super().__init__(folders, device)
        self.starts = bool(folders[0].about().get("starts"))  # prompts begin with the start token
        self.block = min(_block(folder) for folder in folders)  # tokens that were read at once in training
        limits = [limit for model in self.models for limit in model.limits.values() if limit is not None]
        attends = any(isinstance(part, Mixer) and part.attends for model in self.models for part in model.modules())
        self.block = min([self.block, *limits])
        self.context = self.block if limits or attends else None  # learned positions beyond a block are not trained
        self.limit = self.block + 1  # the last token is only predicted
        self.example = next(filter(self._can_read, EXAMPLES))

    def prompt(self, prompt: str | Sequence[int]) -> list[int]:
        """The ids of a prompt, given as a text or as ids. An empty prompt starts a document."""
        if not isinstance(prompt, str):
            self.check_ids(prompt)
            return [*prompt] or [self.codec.special.start]
        [ids] = self.codec.pieces_of([prompt])
        return [self.codec.special.start, *ids] if self.starts or not ids else ids

    def prompt_of(self, row: Row) -> Prompt:
        """The first half of the tokens."""
        ids = np.asarray(row[0]).tolist()[: (len(row[0]) + 1) // 2]
        return self._prompt(ids, max(1, min(LOOKED_AT, self.limit - len(ids))))

    def _prompt(self, ids: list[int], limit: int) -> Prompt:
        return Prompt({}, torch.tensor([ids], device=self.device), [limit], self.codec.special.end)

    def row_of(self, prompt: Prompt, ids: Sequence[int]) -> Row:
        return ([*prompt.prefix[0].tolist(), *ids],)

    def write_together(self, prompts: Sequence[Prompt]) -> list[Hypothesis]:
        return greedy_together(self.models, prompts)

    def check_ids(self, ids: object) -> None:
        """Raise an error unless these are ids of tokens."""
        if not isinstance(ids, Sequence) or isinstance(ids, bytes):
            raise WeftError(f"expected a text or a list of token ids, got {ids!r}.")
        for i in ids:
            if not (isinstance(i, int) and 0 <= i < len(self.codec)):
                raise WeftError(f"token ids must be between 0 and {len(self.codec) - 1}, got {i!r}.")

    def _can_read(self, text: str) -> bool:
        try:
            return bool(self.codec.pieces_of([text]))
        except WeftError:  # characters that it does not know
            return False

    def batch(self, off: Sequence[Head] = ()) -> Continuous:
        """An empty batch that continuations can join, without some attention heads."""
        return Continuous(self.models, self.context, HeadsOff(off) if off else None)

    def writer(
        self,
        prompt: Sequence[int],
        sampling: Sampling,
        *,
        max_tokens: int = MOST_TOKENS,
        seed: int = 1,
        draw: int = 0,
        stop: str | Sequence[str] = (),
        alternatives: int = 0,
        off: Iterable[Head] = (),
        **others: object,
    ) -> Writer:
        """A new continuation of a prompt. The same seed, prompt and draw give the same tokens. Attention heads can be
        switched off."""
        if others:
            raise WeftError(unknown("option", next(iter(others)), OPTIONS))
        stops = [stop] if isinstance(stop, str) else [*stop]
        if not all(isinstance(each, str) and each for each in stops):
            raise WeftError("a stop string must not be empty.")
        for name, value, least in (("max_tokens", max_tokens, 1), ("seed", seed, 0), ("alternatives", alternatives, 0)):
            if not isinstance(value, int):
                raise WeftError(f"{name}: expected int, got {value!r}.")
            if value < least:
                raise WeftError(f"{name} must be at least {least}, got {value}.")
        end = self.codec.special.end
        written = Continuation([*prompt], max_tokens, sampling, (seed, draw, *prompt), end, alternatives)
        return Writer(self.codec, written, stops, self.existing(off))

    def write(self, writers: Sequence[Writer]) -> Iterator[tuple[Writer, str]]:
        """Write several continuations together; yield each piece of text with its writer."""
        assert len({writer.off for writer in writers}) < 2, "texts without the same heads are no batch"
        batch = self.batch(writers[0].off if writers else ())
        of = {id(writer.continuation): writer for writer in writers}
        for writer in writers:
            batch.add(writer.continuation)
        while len(batch):
            for step in batch.step():
                writer = of[id(step.continuation)]
                if text := writer.add(step):
                    yield writer, text
                if writer.finish and not step.finish:
                    batch.drop([writer.continuation])

    def complete(
        self, prompts: Sequence[str | Sequence[int]], sampling: Sampling | None = None, *, n: int = 1, **options: Any
    ) -> list[list[Completion]]:
        """For each prompt its `n` continuations; further options are those of `writer`."""
        if n < 1:
            raise WeftError(f"n must be at least 1, got {n}.")
        sampling = sampling or Sampling(TEMPERATURE)
        if not isinstance(sampling, Sampling):
            raise WeftError(f"expected weft.decoding.sampling.Sampling, got {sampling!r}.")
        ids = [self.prompt(prompt) for prompt in prompts]
        writers = [[self.writer(each, sampling, draw=draw, **options) for draw in range(n)] for each in ids]
        for _ in self.write([writer for some in writers for writer in some]):
            pass
        return [[writer.completion() for writer in some] for some in writers]

    def generate(self, prompt: str | Sequence[str] = "", *, temperature: float = TEMPERATURE, **options: Any) -> Any:
        """The continuation of a prompt, or of each in a list. Options are those of `Sampling` and `writer`."""
        sampling, others = _sampling(temperature, options)
        prompts: Any = prompt if isinstance(prompt, list | tuple) else [prompt]
        found = [some[0].text for some in self.complete(prompts, sampling, **others)]
        return found if prompts is prompt else found[0]

    def stream(self, prompt: str = "", *, temperature: float = TEMPERATURE, **options: Any) -> Iterator[str]:
        """Yield the continuation of a prompt piece by piece."""
        sampling, others = _sampling(temperature, options)
        return (text for _, text in self.write([self.writer(self.prompt(prompt), sampling, **others)]))

    def likeliest(self, prompt: str | Sequence[int], beam: int, max_tokens: int = MOST_TOKENS) -> list[Completion]:
        """The continuations found by beam search, best first."""
        ids = self.prompt(prompt)
        room = max_tokens if self.context is None else min(max_tokens, self.context - len(ids))
        if room < 1:
            raise WeftError(f"the prompt has {len(ids)} tokens, and beam search has room for {self.context} in all.")
        found = Beam(beam)(self.models, self._prompt(ids, room))
        return [
            Completion(
                "".join(self.codec.characters(one.ids)),
                one.ids,
                tuple(self.codec.readable(one.ids)),
                one.log_probs,
                ((),) * len(one.ids),
                "stop" if one.finished else "length",
            )
            for one in found[0]
        ]

    @torch.inference_mode()
    def log_probs(self, ids: Sequence[int]) -> Tensor:
        """The log-probabilities of every token after each of these: (T, V)."""
        self.check_ids(ids)
        if self.context is not None and len(ids) > self.context:
            raise WeftError(f"{len(ids)} tokens are too many: this model sees {self.context} at once.")
        inputs = {"tokens": torch.tensor([[*ids]], device=self.device)}
        each = [model.head.log_probs(model.hidden(inputs, Call())[0]) for model in self.models]
        return each[0] if len(each) == 1 else torch.stack(each).logsumexp(0) - math.log(len(each))

    def evaluate(self, documents: str | Iterable[str | Sequence[str]], stride: int | None = None) -> Report:
        """Score texts by the loss on each token. A window moves over a text by `stride` tokens at a time, and scores
        the tokens that are new to it."""
        window = self.block
        stride = window if stride is None else stride
        if not 1 <= stride <= window:
            raise WeftError(f"stride must be between 1 and the context of {window} tokens, got {stride}.")
        began = time.perf_counter()
        nll = tokens = size = letters = count = 0.0
        for document in [documents] if isinstance(documents, str) else documents:
            text = document if isinstance(document, str) else document[0]
            ids = self.prompt(text)
            given = "" if self.starts else self.codec.characters(ids[:1])[0]
            rated = text[len(given) :]
            size, letters, count = size + len(rated.encode()), letters + len(rated), count + 1
            for batch in self._windows(ids, window, stride):
                found = log_likelihoods(self.models, batch)
                nll, tokens = nll - float(found.double().sum()), tokens + found.numel()
        if not tokens:
            raise WeftError("nothing to score: there is no text of two tokens.")
        loss, bits = nll / tokens, nll / math.log(2)
        scores = (
            Score(LOSS, loss),
            Score(PERPLEXITY, perplexity(loss)),
            Score(BITS_PER_BYTE, bits / size),
            Score(BITS_PER_CHARACTER, bits / letters),
        )
        note = (
            f"loss (in nats) and perplexity per token of {self.codec.name}; windows of {window} tokens, stride {stride}"
        )
        return Report(
            scores,
            (note,),
            int(count),
            "documents",
            0,
            time.perf_counter() - began,
            settings={"context": window, "stride": stride},
        )

    def score_files(  # type: ignore[override]
        self, *, text: Sequence[Path], documents: str = "file", stride: int | None = None
    ) -> Report:
        """Score the text in these files."""
        return self.evaluate(_joined(read_documents(text, documents)), stride)

    def windows(self, ids: Sequence[int], window: int, stride: int) -> Iterator[tuple[Sequence[int], int]]:
        """Windows over a text, and how many of the last tokens of each are not predicted in those before it."""
        ends = [*range(window, len(ids) - 1, stride), len(ids) - 1] if len(ids) > 1 else []
        done = 0
        for end in ends:  # the token at `end` is the last that is predicted
            yield ids[max(0, end - window) : end + 1], end - done
            done = end

    def _windows(self, ids: Sequence[int], window: int, stride: int) -> Iterator[Batch]:
        """Windows over a text in batches; only the last `stride` tokens of each but the first are scored."""
        found = [*self.windows(ids, window, stride)]
        each = max(1, POSITIONS // window)
        for at in range(0, len(found), each):
            some, counts = zip(*found[at : at + each])
            tokens = pad(some)
            targets = torch.full_like(tokens[:, 1:], IGNORED)
            for target, row, new in zip(targets, some, counts):
                target[len(row) - 1 - new : len(row) - 1] = torch.tensor(row[len(row) - new :])
            yield Batch({"tokens": tokens[:, :-1]}, targets)

    @torch.inference_mode()
    def attention(
        self, text: str, target: str | Sequence[int] | None = None, what_if: WhatIf = NOTHING
    ) -> AttentionMaps:
        """The attention of the (first) model over a text and its likeliest, or the given, continuation."""
        prompt = self.changed(text, what_if)
        more = self.codec.pieces_of([target])[0] if isinstance(target, str) else target
        if more is None or what_if.force:
            write = partial(self._likeliest, prompt, what_if)
            more = write(what_if.beginning(self.codec, write, more))
        ids = [*prompt, *more]
        if len(ids) < 2:
            raise WeftError("the text is empty.")
        if self.context is not None and len(ids) > self.context + 1:
            raise WeftError(f"the text has {len(ids)} tokens; this model sees {self.context} at once.")
        recorder = Recorder(what_if.off)
        inputs = {"tokens": torch.tensor([ids[:-1]], device=self.device)}
        hidden = self.models[0].hidden(inputs, Call(watch=recorder))[0]
        log_probs = what_if.tempered(self.models[0].head.log_probs(hidden))[range(len(ids) - 1), ids[1:]]
        return AttentionMaps(
            self.folders[0].name,
            text,
            [],
            self.codec.in_text(ids[1:]),
            "".join(self.codec.characters(more)),
            log_probs.tolist(),
            recorder.maps(),
            tuple(more),
            what_if,
            recorder.seen,
            self.codec.readable(ids[:1])[0],
            {"tokens": tuple(ids[:-1])},
            hidden,
            targets=tuple(ids[1:]),
            hash=self.hash,
        )

    @torch.inference_mode()
    def rated(self, ids: Sequence[int], what_if: WhatIf = NOTHING, top: int = 5) -> Iterator[list[RatedToken]]:
        """Every token but the first, rated by those before it, a window at a time: half of it overlaps the one before,
        so each token follows at least half of the context."""
        window = self.context or self.block
        for row, new in self.windows(ids, window, max(1, window // 2)):
            inputs = {"tokens": torch.tensor([row[:-1]], device=self.device)}
            hidden = self.models[0].hidden(inputs, Call(watch=what_if.watch()))[0, -new:]
            yield steps(self.models[0], self.codec, hidden, row[-new:], what_if, top)

    def changed(self, text: str, what_if: WhatIf) -> list[int]:
        """The ids of a prompt with what replaces its tokens, which count from the first of the text."""
        self.existing(what_if.off)
        ids = self.prompt(text)
        first = int(ids[0] == self.codec.special.start)
        return [*ids[:first], *what_if.replaced(self.codec, ids[first:])] if what_if.replace else ids

    def _likeliest(self, prompt: Sequence[int], what_if: WhatIf, beginning: Sequence[int] = ()) -> list[int]:
        """The likeliest continuation that begins so, as long as is shown and as the context allows."""
        given, written = [*prompt, *beginning], [*beginning]
        room = LOOKED_AT - len(written)
        room = room if self.context is None else min(room, self.context - len(given))
        if room < 1 or self.codec.special.end in written:
            return written
        batch = Continuous(self.models, self.context, what_if.watch())
        found = Continuation(given, room, Sampling(0.0), (0,), self.codec.special.end)
        batch.add(found)
        while len(batch):
            batch.step()
        return [*written, *found.written]


def _joined(passages: Iterable[Passage]) -> Iterator[tuple[str]]:
    """Whole documents."""
    text = ""
    for passage in passages:
        text += passage.text
        if passage.ends:
            yield (text,)
            text = ""


def _block(folder: Folder) -> int:
    block = BATCHINGS.value(folder.plan().training.batching, "length")
    return int(block or folder.plan().training.longest)


def _sampling(temperature: float, options: dict[str, Any]) -> tuple[Sampling, dict[str, Any]]:
    """Options of `Sampling`, and the others."""
    own = {name: value for name, value in options.items() if name in Sampling.__dataclass_fields__}
    return Sampling(temperature, **own), {name: value for name, value in options.items() if name not in own}

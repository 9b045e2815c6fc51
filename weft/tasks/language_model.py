"""Language models: each token of plain text is predicted from those before it (Bengio et al. 2003; GPT-2)."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from weft.data.batches import pad
from weft.data.codecs import CODECS, Special, TextCodec
from weft.data.corpus import Chunk, Corpus
from weft.data.documents import Part, Passage, held_out, passage_of, read_documents
from weft.errors import WeftError
from weft.evaluation.perplexity import perplexity, token_loss
from weft.evaluation.scores import LOSS, PERPLEXITY
from weft.folder import Folder
from weft.models.base import IGNORED, Batch, Model
from weft.parts.batching import Ids, Row
from weft.plans.plan import Plan
from weft.tasks.generator import Generator
from weft.tasks.task import Codecs, Examples, Task, Workers

TEXT_CODECS = {name: codec for name, codec in CODECS.items() if issubclass(codec, TextCodec)}
POSITIONS = 8192  # in a batch for validation


class LanguageModel(Task[Passage]):
    """A text is continued, token by token"""

    name = "language-model"
    columns = ("tokens",)
    unit = "passages"
    metrics = (LOSS, PERPLEXITY)
    best_by = LOSS.name
    needs: ClassVar = {"model": ("decoder",), "codec": tuple(TEXT_CODECS), "training.batching": ("blocks",)}

    def read(
        self,
        files: Sequence[Path],
        *,
        beside: Sequence[Path] = (),
        like: Examples[Passage] | None = None,
        base: Folder | None = None,
        documents: str = "file",
        **options: Any,
    ) -> Examples[Passage]:
        """Read documents from files and folders; `documents` says how plain files are split."""
        return read_documents(files, documents)

    def hold_out(self, examples: Examples[Passage]) -> tuple[Examples[Passage], Examples[Passage], str]:
        learned, valid = held_out(examples)
        if not valid.last and examples.passed_over:
            counts = (f"{file}: {sum(reasons.values()):,}" for file, reasons in examples.passed_over.items())
            raise WeftError(f'no text to train on: a record of JSONL needs a "text" ({", ".join(counts)} without).')
        if not valid.size:
            raise WeftError(f"{valid.last:,} characters are too few to hold out a tenth for validation; give --valid.")
        remark = f"no --valid: the last {valid.size:,} of {valid.last:,} characters are held out for validation"
        return learned, valid, remark

    def counted(self, corpus: Corpus, purpose: str) -> str:
        return f"{corpus.size:,} {purpose} tokens"

    def check(self, plan: Plan) -> None:
        super().check(plan)
        if plan.vocabulary < (least := TEXT_CODECS[plan.codec.name].least):
            raise WeftError(f"vocabulary: codec {plan.codec.name} needs at least {least}, got {plan.vocabulary}.")

    def learn(self, examples: Iterable[Passage], plan: Plan) -> Codecs:
        codec = TEXT_CODECS[plan.codec.name]
        if codec.is_closed and isinstance(examples, Part):  # what was held out has the same alphabet
            examples = examples.documents
        return {"tokeniser": codec.train((passage_of(example).text for example in examples), plan.vocabulary)}

    def encode(self, examples: Iterable[Passage], codecs: Codecs, longest: int | None) -> Iterator[Chunk]:
        """One row per passage; with `longest`, rows of one more token, each beginning with the last one's end."""
        codec = codecs["tokeniser"]
        assert isinstance(codec, TextCodec)
        left: list[int] = []
        for example in examples:
            passage = passage_of(example)
            ids = _pieces(passage.text, codec)
            ids = [*[codec.special.start] * passage.starts, *ids, *[codec.special.end] * passage.ends]
            if longest is None:
                yield [(ids,)], {}
                continue
            left += ids
            cuts = range(0, len(left) - longest - 1, longest)
            yield [(left[cut : cut + longest + 1],) for cut in cuts], {}
            left = left[len(cuts) * longest :]
        if len(left) > 1:
            yield [(left,)], {}

    def collate(self, rows: Sequence[Row], codecs: Codecs, random: np.random.Generator) -> Batch:
        return next_tokens([row[0] for row in rows], codecs["tokeniser"].special)

    def validate(self, model: Model, corpus: Corpus, codecs: Codecs, workers: Workers) -> dict[str, float]:
        """The loss is the mean negative log-likelihood of a token in nats, given those before it in its block."""
        rows = [corpus[i] for i in range(workers.rank, len(corpus), workers.size)]
        each = max(1, POSITIONS // max((len(row[0]) for row in rows), default=1))
        random = np.random.default_rng(0)
        batches = [self.collate(rows[at : at + each], codecs, random) for at in range(0, len(rows), each)]
        tokens, was_training = sum(batch.count for batch in batches), model.training
        model.eval()
        try:
            nll = tokens * token_loss([model], batches) if tokens else 0.0
        finally:
            model.train(was_training)
        nll, count = workers.total(nll, tokens)
        loss = nll / count
        return {LOSS.name: loss, PERPLEXITY.name: perplexity(loss)}

    def facts(self, examples: Iterable[Passage], base: Folder | None) -> dict[str, Any]:
        """Whether prompts begin with the start token, which a model of a single document has hardly ever seen."""
        starts = sum(passage_of(example).starts for example in examples)
        return {"starts": starts > 1}

    def noted(self, folder: Folder) -> str:
        starts = folder.about().get("starts")
        return f"prompts: {'begin a document' if starts else 'continue a text from anywhere in it'}"

    def predictor(self, folders: Sequence[Folder], device: str) -> Generator:
        return Generator(folders, device)


def _pieces(text: str, codec: TextCodec) -> list[int]:
    try:
        return codec.pieces_of([text])[0]
    except WeftError as error:
        if codec.is_lossless:
            raise
        raise WeftError(
            f"{error} They are those of the training text; codec=subwords and codec=bytes can read any text."
        ) from None


def next_tokens(rows: Sequence[Ids], special: Special) -> Batch:
    """A batch of rows of tokens: all but the last are read, and the next token is the target of each, unless it starts
    a document."""
    tokens = pad(rows)  # (B, T + 1)
    targets = tokens[:, 1:].clone()
    for target, row in zip(targets, rows):
        target[len(row) - 1 :] = IGNORED
    if special.start != special.end:
        targets[targets == special.start] = IGNORED
    return Batch({"tokens": tokens[:, :-1]}, targets)

"""Translation: pairs of texts, one vocabulary for both sides, BLEU. Any task from text to text is one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from weft.data.bpe_dropout import BpeDropout
from weft.data.codecs import Subwords
from weft.data.corpus import PAIR, Chunk, Corpus
from weft.data.languages import Languages, direction_of
from weft.data.pairs import batch_of, batches_of
from weft.data.reading import Pairs, has_tables, read_pairs
from weft.decoding import Greedy, search_all
from weft.errors import WeftError
from weft.evaluation.perplexity import perplexity, token_loss
from weft.evaluation.scores import BLEU, LOSS, PERPLEXITY, bleu
from weft.folder import Folder
from weft.models.base import Batch, Generative, Model
from weft.parts.batching import Ids, Row
from weft.plans.plan import Plan, Training
from weft.tasks.task import Codecs, Examples, Task, Workers
from weft.tasks.translator import Translator, languages_of

Pair = tuple[str, str]
LEARN_FROM = 2_000_000  # pairs that subwords are learned from; more would only cost time and memory
CHUNK = 10_000  # pairs that are encoded at a time
ALIGNED = 200  # pairs that the aligning head is chosen on


class Translation(Task[Pair]):
    """A text becomes another text"""

    name = "translation"
    columns = tuple(PAIR)
    unit = "pairs"
    metrics = (LOSS, PERPLEXITY, BLEU)
    best_by = BLEU.name
    needs: ClassVar = {
        "model": ("encoder-decoder",),
        "codec": (Subwords.name,),
        "training.batching": ("by-length", "shuffled"),
    }

    def check(self, plan: Plan) -> None:
        super().check(plan)
        if plan.vocabulary < Subwords.least:
            least = f"{Subwords.least} (256 bytes and {Subwords.least - 256} special tokens)"
            raise WeftError(f"vocabulary: expected at least {least}, got {plan.vocabulary}.")

    def read(
        self,
        files: Sequence[Path],
        *,
        beside: Sequence[Path] = (),
        like: Examples[Pair] | None = None,
        base: Folder | None = None,
        languages: str | Languages | None = None,
        columns: str | None = None,
        **options: Any,
    ) -> Pairs:
        """Pairs in the direction of the training pairs, of `languages` or of the base model, in this order."""
        direction = getattr(like, "languages", None) or languages or (languages_of(base) if base else None)
        has_no_columns = has_tables([*files, *beside]) and not has_tables(files)  # but the other set has
        return read_pairs(files, languages=direction, columns=None if has_no_columns else columns)

    def remarks(self, examples: Examples[Pair]) -> Iterable[str]:
        if getattr(examples, "languages", None) is None:
            yield "cannot infer languages from these file names; pass --languages en-de to record them"

    def learn(self, examples: Iterable[Pair], plan: Plan) -> Codecs:
        return {"tokeniser": Subwords.train(_texts(examples), plan.vocabulary)}

    def encode(self, examples: Iterable[Pair], codecs: Codecs, longest: int | None) -> Iterator[Chunk]:
        stream, codec = iter(examples), codecs["tokeniser"]
        while some := list(islice(stream, CHUNK)):
            full = [pair for pair in some if pair[0].strip() and pair[1].strip()]
            rows = list(zip(*(codec.encode_all([pair[side] for pair in full]) for side in (0, 1))))
            kept = [row for row in rows if longest is None or max(map(len, row)) <= longest]
            skipped = {
                "with an empty side": len(some) - len(full),
                f"longer than {longest} tokens": len(rows) - len(kept),
            }
            yield kept, skipped

    def collate(self, rows: Sequence[Row], codecs: Codecs, random: np.random.Generator) -> Batch:
        return batch_of(rows, codecs["tokeniser"].special.start)

    def augment(self, rows: Sequence[Row], codecs: Codecs, options: Training, seed: str) -> Sequence[Row]:
        """BPE dropout; where it would make a text longer than allowed, the text stays as it is."""
        codec = codecs["tokeniser"]
        if not options.bpe_dropout:
            return rows
        assert isinstance(codec, Subwords)
        drop = BpeDropout(codec, options.bpe_dropout, seed)

        def dropped(ids: Ids) -> Ids:
            drawn = drop(np.asarray(ids).tolist())
            return drawn if len(drawn) <= options.longest else ids

        return [tuple(map(dropped, row)) for row in rows]

    def validate(self, model: Model, corpus: Corpus, codecs: Codecs, workers: Workers) -> dict[str, float]:
        """The loss is the mean negative log-likelihood of a token in nats, without smoothing; BLEU is of greedy search.
        Each worker takes its share of the pairs."""
        assert isinstance(model, Generative)
        codec = codecs["tokeniser"]
        pairs = [(np.asarray(source).tolist(), np.asarray(target).tolist()) for source, target in corpus]
        mine = pairs[workers.rank :: workers.size]
        was_training, device = model.training, next(model.parameters()).device
        model.eval()
        try:
            tokens = sum(len(target) for _, target in mine)
            nll = tokens * token_loss([model], batches_of(mine, codec.special.start)) if mine else 0.0
            sources = [source for source, _ in mine]
            found = search_all(Greedy(), [model], sources, codec.special.start, codec.special.end, device)
        finally:
            model.train(was_training)
        nll, count = workers.total(nll, tokens)
        shares = workers.gather([codec.decode(hypotheses[0].ids) for hypotheses in found])
        references = [codec.decode(target) for _, target in pairs]
        translations = [shares[i % len(shares)][i // len(shares)] for i in range(len(references))]
        loss = nll / count
        values = (loss, perplexity(loss), bleu(translations, references).value)
        return {metric.name: value for metric, value in zip(self.metrics, values)}

    def predictor(self, folders: Sequence[Folder], device: str) -> Translator:
        return Translator(folders, device)

    def facts(self, examples: Iterable[Pair], base: Folder | None) -> dict[str, Any]:
        languages = getattr(examples, "languages", None) or (languages_of(base) if base else None)
        return {"languages": languages and direction_of(languages)}

    def noted(self, folder: Folder) -> str:
        return f"languages: {' → '.join(languages_of(folder) or ('unknown',))}"

    def finish(self, folder: Folder) -> None:
        """Choose the head that aligns words best, on pairs that the run was validated on."""
        translator = Translator([folder])
        if not translator.heads["cross"]:
            return  # none does
        decode = translator.codec.decode
        valid = islice(Corpus(folder.path / "tokens" / "valid"), ALIGNED)
        pairs = [(decode(np.asarray(source).tolist()), decode(np.asarray(target).tolist())) for source, target in valid]
        folder.note(aligner=asdict(translator.choose_aligner(pairs)))


def _texts(pairs: Iterable[Pair]) -> Iterator[str]:
    given = full = 0
    for source, target in islice(pairs, LEARN_FROM):
        given += 1
        full += bool(source.strip() and target.strip())
        yield source
        yield target
    if given and not full:
        raise WeftError(f"no training pairs left (skipped: {given} with an empty side).")

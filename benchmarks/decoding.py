"""How fast is decoding, compared with other engines that run the same weights?

    python -m benchmarks.decoding                      the shipped model and base size, 1,000 sentences, five rounds
    python -m benchmarks.decoding --quick --json       the shipped model, 200 sentences, two rounds

From text to text, greedy and with a beam of 5. All engines have the same subwords, score log P / |Y|^1, stopping rule
(as many finished hypotheses as the beam is wide) and maximum length. CTranslate2 and weft run both in one process with
all threads (1 × 2 threads on two cores) and in as many workers with one thread each (2 × 1 threads); CTranslate2 is
tried with several batch sizes, and the best is timed. The sentences are those of Tatoeba's test set where --data has
it, else weft's few examples repeated. Base size has random weights and 100 sentences, and stops after 16 tokens,
because such a model never ends a sentence.
"""

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import ctranslate2
import torch
from tokenizers import Tokenizer

from benchmarks.measure import interleaved
from benchmarks.peers import transformers_model
from benchmarks.record import arguments, record
from benchmarks.tables import decoding as table
from weft.data.batches import pad
from weft.data.codecs.subwords import PAD, START
from weft.data.reading import read_pairs
from weft.decoding import best_first
from weft.exports.agreement import BEAMS, agreement
from weft.exports.ctranslate2 import Engine, write
from weft.folder import Folder
from weft.plans.presets import plan
from weft.samples.sentences import EXAMPLES
from weft.tasks import load
from weft.tasks.pool import TranslatorPool
from weft.tasks.translator import Translator
from weft.weights import parameters, save_weights

BATCHES = (32, 64, 128)  # sentences that CTranslate2 translates together
TOGETHER = 64  # and transformers
ALONE = 20  # sentences whose latency is taken
SEARCHES = ("greedy", "beam 5")  # as in BEAMS
EXACT, QUANTISED, GENERATE = "CTranslate2 float32", "CTranslate2 int8", "transformers' generate"
LIMIT = 16  # tokens, of sources and translations at base size
FEW = 100  # sentences at base size
Say = Callable[[Sequence[str]], list[str]]


def sentences(data: Path, count: int) -> list[str]:
    file = data / "tatoeba-deu-eng" / "test.tsv.xz"
    if file.is_file():
        return [source for source, _ in islice(read_pairs([file], languages=("en", "de")), count)]
    return [EXAMPLES["en"][i % len(EXAMPLES["en"])] for i in range(count)]


def base_folder(path: Path) -> Folder:
    """`transformer-base` with the shipped model's subwords and weights drawn at random."""
    tokeniser = Folder.find("en-de").codec()
    recipe = plan("transformer-base").with_settings(
        {"vocabulary": len(tokeniser), "position": {"name": "learned", "limit": LIMIT}, "longest": LIMIT}
    )
    torch.manual_seed(1)
    path.mkdir()
    folder = Folder(path)
    folder.describe(recipe, tokeniser, ("en", "de"))
    save_weights(dict(parameters(recipe.build())), path / "model.safetensors")
    return folder


class WithCTranslate2:
    """An export at work as CTranslate2's documentation has it: all texts in one call."""

    def __init__(self, folder: Path, inter: int, intra: int, limit: int, compute: str = "float32"):
        self.tokeniser = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.translator = ctranslate2.Translator(
            str(folder), inter_threads=inter, intra_threads=intra, compute_type=compute
        )
        self.limit = limit

    def say(self, texts: Sequence[str], beam: int, batch: int) -> list[str]:
        pieces = [found.tokens for found in self.tokeniser.encode_batch(list(texts))]
        found = self.translator.translate_batch(
            pieces, max_batch_size=batch, beam_size=beam, min_decoding_length=0, max_decoding_length=self.limit
        )
        ids = [[self.tokeniser.token_to_id(token) for token in result.hypotheses[0]] for result in found]
        return [str(text) for text in self.tokeniser.decode_batch(ids)]


def with_transformers(translator: Translator, limit: int, beam: int) -> Say:
    """transformers' `generate`, on batches of sentences of similar length."""
    model = transformers_model(translator.models[0], translator.folders[0].plan()).eval()

    def say(texts: Sequence[str]) -> list[str]:
        sources = translator.tokeniser.encode_all(texts)
        order = sorted(range(len(texts)), key=lambda i: len(sources[i]))
        said: dict[int, str] = {}
        for start in range(0, len(order), TOGETHER):
            some = order[start : start + TOGETHER]
            batch = pad([sources[i] for i in some])
            with torch.inference_mode():
                found = model.generate(  # type: ignore[operator]
                    input_ids=batch,
                    attention_mask=(batch != PAD).long(),
                    num_beams=beam,
                    max_new_tokens=limit,
                    length_penalty=1.0,
                    early_stopping=True,
                    do_sample=False,
                )
            for i, ids in zip(some, found.tolist()):
                said[i] = translator.tokeniser.decode([token for token in ids if token not in (PAD, START)])
        return [said[i] for i in range(len(texts))]

    return say


def measure(folder: Folder, name: str, texts: list[str], rounds: int) -> dict[str, Any]:
    translator = load(str(folder.path))
    texts = [text for text in texts if len(translator.tokeniser.encode(text)) <= translator.limit]
    searches: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as scratch, TranslatorPool(str(folder.path), torch.get_num_threads()) as crew:
        export = Path(scratch)
        write(folder.plan(), translator.models[0], translator.tokeniser, export, "float32")
        same = agreement(translator, Engine(export), texts)
        for search, beam, searched in zip(SEARCHES, BEAMS, same.searched, strict=True):
            searches[search] = race(translator, crew, export, texts, beam, rounds) | {
                "identical": searched.same,
                "different": [vars(one) for one in searched.different],
            }
    return {"model": name, "sentences": len(texts), "rounds": rounds, "searches": searches}


def race(
    translator: Translator, crew: TranslatorPool, export: Path, texts: list[str], beam: int, rounds: int
) -> dict[str, Any]:
    """All systems with one search: all texts at once, then a few one by one."""
    threads, search = torch.get_num_threads(), best_first(beam, 1.0)
    limit = max(translator.prompt(translator.encode_all(texts)).limits)
    together, apart = f"weft (1 × {threads} threads)", f"weft ({threads} × 1 threads)"
    exact, quantised = (best_layout(export, compute, limit, beam, texts, BATCHES) for compute in ("float32", "int8"))
    single = best_layout(export, "float32", limit, beam, texts[:ALONE], (1,))
    systems: dict[str, Say] = {
        together: lambda some: [found[0].text for found in translator.search(some, search)],
        apart: lambda some: [found[0].text for found in crew.search(some, search)],
        EXACT: exact[1],
        QUANTISED: quantised[1],
        GENERATE: with_transformers(translator, limit, beam),
    }
    times = interleaved({name: partial(say, texts) for name, say in systems.items()}, rounds)
    best = min((together, apart), key=lambda name: times[name].median)
    ratios = {name: round(times[name].median / times[best].median, 3) for name in (EXACT, QUANTISED, GENERATE)}
    fastest = min((EXACT, GENERATE), key=ratios.__getitem__)
    alone = {together: systems[together], EXACT: single[1], GENERATE: systems[GENERATE]}
    latency = interleaved({name: partial(one_by_one, say, texts[:ALONE]) for name, say in alone.items()}, rounds)
    return {
        "fastest_peer": fastest,
        "ratio_to_fastest_peer": ratios[fastest],
        "ratios": ratios,
        "latency_ratio": round(latency[together].median / latency[EXACT].median, 3),
        "milliseconds_alone": {name: round(1000 * time.median / ALONE, 2) for name, time in latency.items()},
        "layouts": {EXACT: exact[0], QUANTISED: quantised[0], GENERATE: f"{TOGETHER} together"},
        "seconds": {name: time.to_dict() for name, time in times.items()},
        "sentences_per_second": {
            name: [round(len(texts) / seconds) for seconds in (time.median, time.high, time.low)]
            for name, time in times.items()
        },
    }


def best_layout(
    export: Path, compute: str, limit: int, beam: int, texts: list[str], batches: Sequence[int]
) -> tuple[str, Say]:
    """CTranslate2 as it suits it best: how many workers of how many threads, how many sentences together."""
    threads, tried = torch.get_num_threads(), dict[str, Say]()
    for inter, intra in ((1, threads), (threads, 1)):
        engine = WithCTranslate2(export, inter, intra, limit, compute)
        for batch in batches:
            tried[f"{inter} × {intra} threads, {batch} together"] = partial(engine.say, beam=beam, batch=batch)
    times = interleaved({name: partial(say, texts) for name, say in tried.items()}, rounds=1)
    return min(tried.items(), key=lambda one: times[one[0]].median)


def one_by_one(say: Say, texts: list[str]) -> None:
    for text in texts:
        say([text])


def main() -> None:
    options = arguments(__doc__, quick="the shipped model, 200 sentences, two rounds")
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    given = options.parse_args()
    texts = sentences(given.data, 200 if given.quick else 1000)
    with tempfile.TemporaryDirectory() as scratch:
        models = [(Folder.find("en-de"), "en-de", len(texts))]
        if not given.quick:
            models.append((base_folder(Path(scratch) / "base"), "transformer-base", FEW))
        for folder, name, count in models:
            found = measure(folder, name, texts[:count], 2 if given.quick else 5)
            record(given, f"decoding-{name}", found, table(found))


if __name__ == "__main__":
    main()

"""How fast are translations, beside others that have the same weights?

    python -m benchmarks.decoding                      the shipped model and base size, 1,000 sentences, five rounds
    python -m benchmarks.decoding --quick --json       the shipped model, 200 sentences, two rounds

From text to text, greedy and with a beam of 5, everybody with the same subwords, score log P / |Y|^1, the same rule of
stopping (as many hypotheses have ended as the beam is wide) and the same longest translation. CTranslate2 and weft run
in one process of all threads and in as many workers of one thread, CTranslate2 with several batch sizes, and the best
of each is timed. The sentences are those of Tatoeba's test set where --data has it, else weft's few examples again and
again. Base size has weights drawn at random and 100 sentences, and stops after 16 tokens: such a model
knows no end.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import ctranslate2
import torch
from tokenizers import Tokenizer

from benchmarks.measure import interleaved, machine, say
from benchmarks.peers import transformers_model
from weft.crew import TranslatorPool
from weft.data.batches import filled
from weft.data.reading import read_pairs
from weft.decoding import best_first
from weft.decoding.hypothesis import length_limits
from weft.exports.agreement import BEAMS, agreement
from weft.exports.ctranslate2 import Engine, write
from weft.folder import Folder, parameters, save_weights
from weft.models.sequence_to_sequence import PAD, START
from weft.plans.presets import plan
from weft.samples.sentences import EXAMPLES
from weft.translator import Translator, load

BATCHES = (32, 64, 128)  # sentences that CTranslate2 translates together
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
    tokeniser = Folder.find("en-de").tokeniser()
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
    """transformers' `generate`, 64 sentences of like length at a time."""
    model = transformers_model(translator.models[0], translator.folders[0].plan()).eval()

    def say(texts: Sequence[str]) -> list[str]:
        sources = translator.tokeniser.encode_all(texts)
        order = sorted(range(len(texts)), key=lambda i: len(sources[i]))
        said: dict[int, str] = {}
        for start in range(0, len(order), 64):
            some = order[start : start + 64]
            batch = filled([sources[i] for i in some])
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
    result: dict[str, Any] = {"model": name, "sentences": len(texts), "rounds": rounds, "machine": machine()}
    with tempfile.TemporaryDirectory() as scratch, TranslatorPool(str(folder.path), torch.get_num_threads()) as crew:
        export = Path(scratch)
        write(folder.plan(), translator.models[0], translator.tokeniser, export, "float32")
        same = agreement(translator, Engine(export), texts)
        for search, beam, searched in zip(SEARCHES, BEAMS, same.searched, strict=True):
            result[search] = race(translator, crew, export, texts, beam, rounds) | {
                "identical": searched.same,
                "different": [vars(one) for one in searched.different],
            }
    worst = min((result[search] for search in SEARCHES), key=lambda row: float(row["ratio_to_fastest_peer"]))
    return result | {key: worst[key] for key in ("ratio_to_fastest_peer", "fastest_peer")}


def race(
    translator: Translator, crew: TranslatorPool, export: Path, texts: list[str], beam: int, rounds: int
) -> dict[str, Any]:
    """All systems with one search: all texts at once, then a few one by one."""
    threads, search = torch.get_num_threads(), best_first(beam, 1.0)
    limit = max(length_limits(translator.models, filled(translator.tokeniser.encode_all(texts))))
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
        "layouts": {EXACT: exact[0], QUANTISED: quantised[0]},
        "systems": {
            name: {**time.to_dict(), "sentences_per_second": round(len(texts) / time.median)}
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


def table(result: dict[str, Any]) -> Iterator[str]:
    for search in SEARCHES:
        row = result[search]
        yield (
            f"{result['model']}, {search}: {row['ratio_to_fastest_peer']} times {row['fastest_peer']}; "
            f"{row['identical']} of {result['sentences']} as CTranslate2 has them; "
            f"alone {row['latency_ratio']} times its time"
        )
        for system, time in row["systems"].items():
            yield (
                f"  {system:26} {time['sentences_per_second']:>6,} sentences/s   {time['median']:.3f} s"
                f"   ({time['low']:.3f} to {time['high']:.3f})   {row['layouts'].get(system, '')}"
            )
        yield "  alone, milliseconds: " + ", ".join(f"{s} {t}" for s, t in row["milliseconds_alone"].items())
        for one in row["different"]:
            yield f"  different, by {one['gain']:.2g}: {one['text']!r}: {one['ours']!r}, {one['theirs']!r}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--quick", action="store_true", help="the shipped model, 200 sentences, two rounds")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    texts = sentences(given.data, 200 if given.quick else 1000)
    with tempfile.TemporaryDirectory() as scratch:
        models = [(Folder.find("en-de"), "en-de", len(texts))]
        if not given.quick:
            models.append((base_folder(Path(scratch) / "base"), "transformer-base", FEW))
        for folder, name, count in models:
            result = measure(folder, name, texts[:count], 2 if given.quick else 5)
            say(result, given.json, "\n".join(table(result)))


if __name__ == "__main__":
    main()

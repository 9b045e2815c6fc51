"""Writes the tables in docs/ from the files in benchmarks/results.

    python -m benchmarks.tables              # make tables
    python -m benchmarks.tables --check      exit code 1 if a page differs from the files

A table stands between `<!-- table: NAME -->` and `<!-- end -->`, and NAME is one of `TABLES`. The benchmarks print what
they found with the same functions.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from benchmarks.record import read

DOCS = Path(__file__).parents[1] / "docs"
MARKED = re.compile(r"(?<=<!-- table: )(?P<name>[\w-]+) -->\n.*?(?=<!-- end -->)", re.DOTALL)
FALL = "longest fifth over the others"
Numbers = Mapping[str, Any]


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + "".join(f"{cell} | " if cell else "| " for cell in cells).strip() for cells in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def percent(fraction: float) -> str:
    return f"{fraction * 100:.0f} %"


def between(found: Mapping[str, float] | Sequence[float], digits: int = 0) -> str:
    """(median, low, high) → 678 (641 to 727)"""
    values = found.values() if isinstance(found, Mapping) else found
    return "{} ({} to {})".format(*(f"{value:,.{digits}f}" for value in values))


def mean_and_deviation(values: Sequence[float], digits: int = 1) -> str:
    return f"{mean(values):.{digits}f}" + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")


def shipped(numbers: Numbers) -> str:
    return markdown(
        ("set", "search", "BLEU", "chrF", "perplexity", "sentences/s"),
        (
            (
                f"{row['set']} ({row['sentences']:,} sentences)",
                row["search"],
                f"{row['bleu']:.1f}",
                f"{row['chrf']:.1f}",
                f"{row['perplexity']:.2f}",
                f"{row['sentences_per_second']:,.0f}",
            )
            for row in numbers["rows"]
        ),
    )


def multi30k(numbers: Numbers) -> str:
    """A row for each seed; with several seeds, mean and standard deviation."""
    runs = numbers["runs"]
    rows = [
        (f"{run['settings']['seed']}", f"{run['settings']['steps']:,}", f"{run['val']:.2f}", f"{run['test']:.2f}")
        for run in runs
    ]
    if len(runs) > 1:
        val, test = (mean_and_deviation([run[split] for run in runs], 2) for split in ("val", "test"))
        rows.append(("mean ± standard deviation", "", val, f"**{test}**"))
    return markdown(("seed", "steps", "val", "test_2016"), rows)


def ablations(numbers: Numbers) -> str:
    """The first run is the recipe; the others change one thing each."""
    first, *others = numbers["runs"]
    changed = ((run["name"], f"{run['val']:.2f}", f"{run['val'] - first['val']:+.1f}") for run in others)
    return markdown(("", "val", "difference"), [(first["name"], f"{first['val']:.2f}", ""), *changed])


def families(numbers: Numbers) -> str:
    """A row for each plan, the best first."""

    def score(found: Numbers) -> str:
        spread = f" ± {found['deviation']:.1f}" if found.get("deviation") is not None else ""
        return f"{found['mean']:.1f}{spread}"

    return markdown(
        ("", "parameters", "steps", "seeds", "greedy", "beam 5"),
        (
            (
                f"`{one['plan']}`",
                f"{one['parameters'] / 1e6:.2f}M",
                f"{one['steps']:,}",
                f"{len(one['seeds'])}",
                score(one["greedy"]),
                f"**{score(one['beam'])}**",
            )
            for one in sorted(numbers["plans"], key=lambda one: -one["beam"]["mean"])
        ),
    )


def speeds(numbers: Numbers) -> str:
    return markdown(
        ("", "target tokens a second, training", "sentences a second, greedy", "beam 5"),
        (
            (f"`{one['plan']}`", *(f"{one[key]:,.0f}" for key in ("training", "greedy", "beam")))
            for one in numbers["plans"]
        ),
    )


def lengths(numbers: Numbers) -> str:
    """BLEU by the number of words in the source, with intervals."""
    return _by_length(numbers["groups"], numbers["bleu"], 1)


def parts(numbers: Numbers) -> str:
    """The fraction of each system's BLEU that the one-vector model reaches, by the number of words in the source."""
    groups = {**numbers["groups"], FALL: numbers["longest"]}
    return _by_length(groups, numbers["parts"], 2)


def _by_length(groups: Mapping[str, int], found: Mapping[str, Mapping[str, Sequence[float]]], digits: int) -> str:
    return markdown(
        ("", *(f"{name} ({count:,})" for name, count in groups.items())),
        ((f"`{plan}`", *(between(one[name], digits) for name in groups)) for plan, one in found.items()),
    )


def dropout(numbers: Numbers) -> str:
    best = min(numbers["runs"], key=lambda run: run["validation_loss"])

    def cells(run: Numbers) -> Iterable[str]:
        for value in (f"{run['validation_loss']:.2f}", f"{run['greedy_bleu']:.1f}"):
            yield f"**{value}**" if run is best else value

    return markdown(
        ("dropout", "validation loss", "greedy BLEU on val"),
        ((f"{run['dropout']}", *cells(run)) for run in numbers["runs"]),
    )


def training(numbers: Numbers) -> str:
    systems = numbers["systems"]
    batches = f"{numbers['batches']} batches" if numbers["batches"] > 1 else "a batch"
    head = (
        f"`{numbers['plan']}`",
        "target tokens a second",
        f"seconds for {batches}: median (low to high) of {numbers['rounds']} rounds",
        "weft's speed, divided by this",
        "peak memory",
    )
    return markdown(
        head,
        (
            (
                name,
                f"{one['target_tokens_per_second']:,}",
                between([one[key] for key in ("median", "low", "high")], 3),
                "" if name == "weft" else f"{one['median'] / systems['weft']['median']:.2f}",
                f"{one['peak_memory_mb']:,} MB" if "peak_memory_mb" in one else "",
            )
            for name, one in systems.items()
        ),
    )


def training_decoders(numbers: Numbers) -> str:
    """The ratio is that of weft in the faster precision."""
    return markdown(
        (
            "",
            "system",
            "precision",
            "tokens a second",
            "seconds for some steps: median (low to high)",
            "weft's best speed, divided by this",
        ),
        (
            (
                shape["shape"] if one is shape["systems"][0] else "",
                one["system"],
                one["precision"],
                f"{one['tokens_per_second']:,}",
                between([one[key] for key in ("median", "low", "high")], 3),
                f"{one['ratio']:.2f}" if one["ratio"] != 1.0 else "",
            )
            for shape in numbers["shapes"]
            for one in shape["systems"]
        ),
    )


def generation(numbers: Numbers) -> str:
    return markdown(
        (
            "",
            "system",
            "tokens a second",
            "seconds: median (low to high)",
            "weft's speed, divided by this",
            "same continuations",
        ),
        (
            (
                ("one prompt" if batch["together"] == 1 else f"{batch['together']} prompts") * (name == "weft"),
                name,
                f"{one['tokens_per_second']:,}",
                between([one[key] for key in ("median", "low", "high")], 3),
                "" if name == "weft" else f"{one['ratio']:.2f}",
                "" if name == "weft" else f"{one['same']} of {batch['together']}",
            )
            for batch in numbers["batches"]
            for name, one in batch["systems"].items()
        ),
    )


def decoding(numbers: Numbers) -> str:
    searches = numbers["searches"]

    def layout(system: str) -> str:
        return "; ".join(dict.fromkeys(one["layouts"].get(system, "") for one in searches.values()))

    return markdown(
        ("sentences a second: median (low to high)", *searches, "layout"),
        (
            (system, *(between(one["sentences_per_second"][system]) for one in searches.values()), layout(system))
            for system in next(iter(searches.values()))["sentences_per_second"]
        ),
    )


def growth(numbers: Numbers) -> str:
    """The first size is the middle; of the others, what differs from it is bold."""
    sizes = numbers["sizes"]

    def size(found: Numbers, name: str) -> str:
        return f"{found[name]}" if found[name] == sizes[0][name] else f"**{found[name]}**"

    return markdown(
        ("width", "layers", "length", "tokens a second", "GFLOP a step", "of the matmul peak"),
        (
            (
                *(size(found, name) for name in ("width", "layers", "length")),
                f"{found['target_tokens_per_second']:,}",
                f"{found['gigaoperations']:,}",
                percent(found["fraction_of_matmul_peak"]),
            )
            for found in sizes
        ),
    )


def reading(numbers: Numbers) -> str:
    return markdown(
        ("pairs", "pairs a minute", "peak memory"),
        (
            (
                f"{run['pairs']:,}",
                f"{run['pairs_per_minute']:,}" if "pairs_per_minute" in run else "",
                f"{run['peak_memory_mb']:,} MB",
            )
            for run in numbers["runs"]
        ),
    )


def start_up(numbers: Numbers) -> str:
    return markdown(
        ("", f"seconds: median (low to high) of {numbers['rounds']} rounds"),
        (
            (
                f"`{name}`",
                between([one[key] for key in ("median", "low", "high")], 2) if "low" in one else f"{one['median']:.2f}",
            )
            for name, one in numbers["systems"].items()
        ),
    )


def commits(numbers: Numbers) -> str:
    """Ratios above 1: faster than the other commit."""
    return markdown(
        ("", f"`{numbers['commit']}`", "now", f"faster by: median (low to high) of {numbers['rounds']} rounds"),
        (
            (name, *(f"{seconds:.2f} s" for seconds in one["seconds"]), between(one["ratio"], 2))
            for name, one in numbers["questions"].items()
        ),
    )


def recurrence(numbers: Numbers) -> str:
    """weft's time over that of a loop written by hand."""
    loops = {"by hand": "against the loop", "by hand, with weft's loss": "against the loop with weft's loss"}
    return markdown(
        ("weft's time for a training step", *loops.values()),
        ((f"`{one['plan']}`", *(f"{one['time_against'][loop]:.2f}" for loop in loops)) for one in numbers["plans"]),
    )


def load(numbers: Numbers) -> str:
    """One client alone, one beside a long request, and all clients at once."""
    crowd = f"{numbers['load']['clients']} clients for {numbers['seconds']:g} seconds"
    names = {
        "idle": "one client, short sentences",
        "beside": "the same, while another client keeps asking for 10,000 characters",
        "load": f"{crowd}, each with the next sentence as soon as the last is answered",
    }
    return markdown(
        ("", "requests", "lost", "p50", "p95", "p99"),
        (
            (
                name,
                f"{numbers[key]['requests']:,}",
                f"{numbers[key]['lost']}",
                *(f"{numbers[key][p]:.2f} s" for p in ("p50", "p95", "p99")),
            )
            for key, name in names.items()
        ),
    )


def glossary(numbers: Numbers) -> str:
    return markdown(
        ("", "terms", "appear", "next to the usual word", "other words that stay"),
        (
            (name, *(f"{one[key]}" for key in ("terms", "come", "beside")), percent(one["stay"]))
            for name, one in numbers.items()
        ),
    )


def shakespeare(numbers: Numbers) -> str:
    """Counting first, then a row for each recipe: mean and standard deviation over its seeds."""
    rows = [(f"{order}-gram by counting", "", "", "", f"{loss:.3f}") for order, loss in numbers["counted"].items()]
    for name in dict.fromkeys(run["name"] for run in numbers["runs"]):
        runs = [run for run in numbers["runs"] if run["name"] == name]
        minutes = mean_and_deviation([run["minutes"] for run in runs], 0)
        loss = mean_and_deviation([run["loss"] for run in runs], 3)
        first = runs[0]
        rows.append((name, f"{first['parameters'] / 1e6:.2f}M", f"{first['steps']:,}", minutes, f"**{loss}**"))
    return markdown(("", "parameters", "steps", "minutes", "validation loss, nats per character"), rows)


def wikitext(numbers: Numbers) -> str:
    """Counting first, then the models."""
    rows = [
        (f"{order}-gram by counting", "", "", "", f"{found:.1f}", "") for order, found in numbers["counted"].items()
    ]
    for run in numbers["runs"]:
        plain, sliding = run["test"].values()
        size, steps = f"{run['parameters'] / 1e6:.2f}M", f"{run['steps']:,}"
        rows.append((f"`{run['name']}`", size, steps, f"{run['minutes']:.0f}", f"**{plain:.1f}**", f"{sliding:.1f}"))
    return markdown(("", "parameters", "steps", "minutes", "test perplexity", "stride 16"), rows)


def choices(numbers: Numbers) -> str:
    """The first is the recipe; the others change one thing each."""
    grouped: dict[str, list[Numbers]] = {}
    for run in numbers["runs"]:
        grouped.setdefault(run["name"], []).append(run)
    base = mean(run["loss"] for run in next(iter(grouped.values())))
    return markdown(
        ("", "steps", "minutes", "validation loss", "difference"),
        (
            (
                name,
                f"{runs[0]['steps']:,}",
                mean_and_deviation([run["minutes"] for run in runs], 1),
                mean_and_deviation([run["loss"] for run in runs], 3),
                f"{mean(run['loss'] for run in runs) - base:+.3f}" if runs[0]["name"] != next(iter(grouped)) else "",
            )
            for name, runs in grouped.items()
        ),
    )


def demo(numbers: Numbers) -> str:
    """The forms that are hardest to read, and all of them."""
    hardest = sorted(numbers["forms"].items(), key=lambda form: form[1])[:3]
    rows = [(f"`{form}`", f"{share:.2f} %") for form, share in hardest]
    head = ("form", "read exactly")
    return markdown(head, [*rows, (f"all {len(numbers['forms'])} forms", f"**{numbers['exact']:.2f} %**")])


TABLES: dict[str, tuple[Callable[[Numbers], str], str]] = {  # the function, and the result file
    "shipped-model": (shipped, "shipped-model"),
    "shakespeare": (shakespeare, "shakespeare"),
    "shakespeare-choices": (choices, "shakespeare-choices"),
    "wikitext": (wikitext, "wikitext"),
    "multi30k": (multi30k, "multi30k"),
    "multi30k-ablations": (ablations, "multi30k-ablations"),
    "families": (families, "families-multi30k"),
    "families-lengths": (lengths, "lengths-multi30k"),
    "families-parts": (parts, "lengths-multi30k"),
    "families-dropout": (dropout, "dropout"),
    "families-speed": (speeds, "speed-multi30k"),
    "tatoeba": (families, "families-tatoeba"),
    "tatoeba-lengths": (lengths, "lengths-tatoeba"),
    "tatoeba-parts": (parts, "lengths-tatoeba"),
    "training-tiny": (training, "training-tiny"),
    "training-base": (training, "training-base"),
    "training-decoders": (training_decoders, "training-decoders"),
    "generation": (generation, "generation"),
    "decoding-small": (decoding, "decoding-en-de"),
    "decoding-base": (decoding, "decoding-transformer-base"),
    "growth": (growth, "growth"),
    "reading": (reading, "reading"),
    "start-up": (start_up, "start-up"),
    "commits": (commits, "commits"),
    "recurrence": (recurrence, "recurrence"),
    "load": (load, "load"),
    "glossary": (glossary, "glossary"),
}


def table(name: str) -> str:
    function, file = TABLES[name]
    return function(read(file))


def filled(page: str) -> str:
    """The page with every table made again."""
    return MARKED.sub(lambda found: f"{found['name']} -->\n{table(found['name'])}\n", page)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true", help="write nothing")
    given = options.parse_args()
    changed = []
    for page in sorted(DOCS.rglob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = filled(before)
        if after != before:
            changed.append(str(page.relative_to(DOCS.parent)))
            if not given.check:
                page.write_text(after, encoding="utf-8")
    print("\n".join(changed) or "all tables are up to date")
    sys.exit(bool(changed) and given.check)


if __name__ == "__main__":
    main()

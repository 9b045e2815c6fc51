"""Sentence boundaries: `weft.data.sentences` against `sentencex` (Wikimedia), on text whose boundaries are known.

    pip install sentencex
    python -m benchmarks.sentences

Boundaries inside a paragraph are counted; its end is given. Three sources: paragraphs of the English Web Treebank,
where people marked the sentences; WMT news, ten lines joined by a space, where a line is a sentence (a few lines hold
two, which counts against both); and hard places of our own, where a wrong boundary cuts an abbreviation, an ordinal,
a number, an address, initials or a quotation. Is every character kept? That is tried on random texts.
"""

import lzma
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import interleaved
from benchmarks.record import arguments, record
from weft.data.sentences import split_sentences

SEED = 1
JOINED = 10  # lines of news in a paragraph
Splitter = Callable[[str, str], list[str]]  # (language, text) → sentences, which may carry white space
Paragraph = list[tuple[str, str]]  # sentences, each with the white space after it

HARD = {
    "en": """Dr. Smith met Mrs. Jones at St. Mary's.|It was late.
        J. R. R. Tolkien wrote it.|C. S. Lewis did not.
        Fruit, e.g. Apples, i.e. Pears, is healthy.|Eat it.
        See Fig. 3 and No. 5 on pp. 7 to 9.|Then read Vol. 2 again.
        Pi is 3.14 or so.|It costs $5.50 today.
        Look at https://example.org/a.B?c=d.|Then write to a.b@c.org.
        The U.S. Army came.|It left at 5 p.m.|Nobody saw it.
        He asked “Why?” and left.|She said “Go.”|They went.
        Smith et al. (2017) say so.|Others do not.
        Version 2.0 of node.js is out.|Install it.
        Wait... and see.|Really?!|Yes…|No.
        Acme Inc. makes it vs. Roe Ltd. in court.|Done.""",
    "de": """Städte, z. B. Berlin, d. h. Großstädte, wachsen.|Dörfer nicht.
        Sie kam am 3. Mai im 19. Jahrhundert.|Er blieb.
        Er wohnt in der 2. Etage.|Sie wohnt im 5. Stock.
        Das kostet ca. 5 Euro bzw. 6 Dollar.|Teuer!
        Brot, Milch usw. sind da.|Der Rest fehlt.
        Dipl.-Ing. Müller und Dr. med. Weber kommen.|Beide sind pünktlich.
        Vgl. Abb. 3 und Nr. 7.|Siehe auch Bd. 2.
        Er sagte: „Geh!“|Sie ging.
        Das war im Jahr 2020.|Dann kam der 12. Weltkrieg im Film.
        J. S. Bach lebte in Leipzig.|Er starb 1750.
        Die Adresse ist www.beispiel.de/a.B geworden.|Nun gut.
        Am 24.12. ist Heiligabend.|Um 18.30 Uhr gibt es Essen.""",
    "ja": """今日は晴れです。|明日は雨でしょう！|「はい？」と聞いた。
        「行こう！」と言った。|彼は来ない。
        価格は3.5ドルです。|高いですね。""",
    "zh": """今天天气很好。|我们去公园吧！|你来吗？
        他说：“你好。”|然后走了。
        价格是3.5元。|太贵了。""",
}


def hard(language: str) -> list[Paragraph]:
    space = "" if language in ("ja", "zh") else " "
    rows = [line.strip().split("|") for line in HARD[language].splitlines()]
    return [[(sentence, space) for sentence in row] for row in rows]


def treebank(data: Path, part: str) -> Iterator[Paragraph]:
    paragraph: Paragraph = []
    with lzma.open(data / "ud-english-ewt" / f"en_ewt-ud-{part}.conllu.xz", "rt", encoding="utf-8") as lines:
        text, last = "", ""
        for line in lines:
            if line.startswith(("# newdoc", "# newpar")) and paragraph:
                yield paragraph
                paragraph = []
            elif line.startswith("# text = "):
                text = line.removeprefix("# text = ").strip()
            elif line.strip():
                last = line
            else:
                paragraph.append((text, "" if "SpaceAfter=No" in last else " "))
    yield paragraph


def news(data: Path, language: str) -> list[Paragraph]:
    found = []
    for year in (2013, 2014):
        file = data / "wmt-newstest-en-de" / f"newstest{year}.{language}.xz"
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            found += [line.strip() for line in lines if line.strip()]
    return [[(line, " ") for line in found[i : i + JOINED]] for i in range(0, len(found), JOINED)]


def ours(language: str, text: str) -> list[str]:
    return [sentence for sentence, _ in split_sentences(text)]


def theirs(language: str, text: str) -> list[str]:
    try:
        from sentencex import segment
    except ImportError:
        sys.exit("this comparison needs sentencex: pip install sentencex")
    return list(segment(language, text))


SPLITTERS: dict[str, Splitter] = {"weft": ours, "sentencex": theirs}


def ends(sentences: list[str]) -> set[int]:
    """Where sentences end inside a text, counted in characters that are not white space."""
    lengths = [len("".join(sentence.split())) for sentence in sentences]
    sums = {sum(lengths[: i + 1]) for i in range(len(lengths))}
    return sums - {0, sum(lengths)}


def scored(split: Splitter, language: str, paragraphs: list[Paragraph]) -> dict[str, float]:
    right = found = wanted = 0
    for paragraph in paragraphs:
        gold = ends([sentence for sentence, _ in paragraph])
        made = ends(split(language, joined(paragraph)))
        right, found, wanted = right + len(gold & made), found + len(made), wanted + len(gold)
    return {"boundaries": wanted, "precision": round(right / max(1, found), 4), "recall": round(right / wanted, 4)}


def joined(paragraph: Paragraph) -> str:
    return "".join(sentence + space for sentence, space in paragraph).strip()


def lost(whole: Callable[[str], str], texts: list[str]) -> dict[str, int]:
    """Of how many texts a character is missing or changed after splitting and joining, and how many cannot be split."""
    found = {"changed": 0, "crashed": 0}
    for text in texts:
        try:
            found["changed"] += whole(text) != text
        except BaseException as error:  # a panic in Rust is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            found["crashed"] += 1
    return found


def random_texts(count: int) -> list[str]:
    draw = random.Random(SEED)
    alphabet = "aB1.?!…,;:\"'”»«() \n\t\r\u00a0\u2028\u2029。！」と，"
    return ["".join(draw.choices(alphabet, k=draw.randint(0, 60))) for _ in range(count)]


def measured(data: Path) -> dict[str, Any]:
    sets = {
        "web, English (EWT dev and test)": ("en", [*treebank(data, "dev"), *treebank(data, "test")]),
        "news, English": ("en", news(data, "eng")),
        "news, German": ("de", news(data, "deu")),
        **{f"hard places, {language}": (language, hard(language)) for language in HARD},
    }
    texts = [joined(paragraph) for paragraph in sets["news, English"][1]]
    turns = {name: lambda split=split: [split("en", text) for text in texts] for name, split in SPLITTERS.items()}
    seconds = interleaved(turns, rounds=5)
    samples = random_texts(10_000)
    return {
        "scores": {
            name: {system: scored(split, *given) for system, split in SPLITTERS.items()} for name, given in sets.items()
        },
        "of 10,000 random texts": {
            "weft": lost(lambda text: "".join(a + b for a, b in split_sentences(text)), samples),
            "sentencex": lost(lambda text: "".join(theirs("en", text)), samples),
        },
        "million characters a second": {
            name: round(sum(map(len, texts)) / timing.median / 1e6, 2) for name, timing in seconds.items()
        },
    }


def table(found: dict[str, Any]) -> str:
    rows = [f"{'':34}{'':12}precision  recall"]
    for name, systems in found["scores"].items():
        for system, one in systems.items():
            rows.append(f"{name:34}{system:12}{one['precision']:9.1%} {one['recall']:7.1%}")
    others = {name: value for name, value in found.items() if name != "scores"}
    return "\n".join([*rows, *(f"{name}: {value}" for name, value in others.items())])


def main() -> None:
    options = arguments(__doc__)
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    given = options.parse_args()
    numbers = measured(given.data)
    record(given, "sentences", numbers, table(numbers), (SEED,))


if __name__ == "__main__":
    main()

"""A toy that several tests share: pairs whose target is the source in capitals, and a run folder of a few steps."""

from pathlib import Path

from weft.folder import Folder
from weft.plans.presets import plan
from weft.training.run import begin, trainer

WORDS = ["red", "green", "blue", "one", "two", "three", "cat", "dog", "bird", "tree", "house", "river"]
PAIRS = [(f"{a} {b} {c}", f"{a} {b} {c}".upper()) for a in WORDS for b in WORDS for c in WORDS[:3]]
SMALL = {
    "width": 16,
    "layers": 2,
    "mixer.heads": 2,
    "cross.heads": 2,
    "feed_forward.hidden": 16,
    "vocabulary": 280,
    "batch_tokens": 512,
    "accumulate": 1,
    "steps": 4,
    "validate_every": 2,
    "average_of": 2,
}
SMALL_ALONE = {key: value for key, value in SMALL.items() if not key.startswith("cross")}  # of a decoder alone
SET = [f"{key}={value}" for key, value in SMALL.items()]


def toy_run(out: Path, **changed: object) -> Folder:
    """A finished run folder of a very small model, en → de."""
    recipe = plan("transformer-tiny").with_settings({**SMALL, **changed})
    job = trainer(begin(recipe, PAIRS[:200], PAIRS[200:210], out, languages=("en", "de")))
    job.train()
    return job.folder


def write_files(folder: Path) -> None:
    """The files of the docs: train, val, test in two languages, a TSV of one's own, and plain text."""
    for name, pairs in (("train", PAIRS[:200]), ("val", PAIRS[200:210]), ("test", PAIRS[210:220])):
        for side, language in enumerate(("en", "de")):
            (folder / f"{name}.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs))
    for name, pairs in (("mine", PAIRS[:50]), ("mine-dev", PAIRS[50:60])):
        (folder / f"{name}.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in pairs))
    for name, lines in (("text", 60), ("held", 10)):
        text = "".join(f"ROMEO:\nO {word} {other}, that I were next a glove.\n\n" for word in WORDS for other in WORDS)
        (folder / f"{name}.txt").write_text("".join(text.splitlines(keepends=True)[: 4 * lines]))
    (folder / "prompts.txt").write_text("ROMEO:\nO\n")

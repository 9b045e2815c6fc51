"""Export a model folder to a folder of another engine, which is checked before it appears."""

import math
import shutil
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from weft.data.reading import read_lines
from weft.errors import WeftError, install, unknown
from weft.exports.agreement import Agreement, agreement
from weft.folder import Folder
from weft.machine import ask
from weft.samples.sentences import EXAMPLES
from weft.translator import Translator

# A format is a module here, named as the package it needs, with `refuse_inexpressible`, `write`, `Engine` and
# `QUANTISATIONS`.
FORMATS = ("ctranslate2",)
SAMPLE = 100  # validation texts that an export is checked on
ROUNDING = 1e-3  # allowed difference of log-probabilities with float32 weights, whose sums are in another order
FIRST_WORDS = """
import sys
from pathlib import Path
from weft.exports.{to} import Engine
print(len(Engine(Path(sys.argv[1])).translate(["a"], 2, [4])))
"""


def export(folder: Folder, to: str, out: Path, quantisation: str = "float32", sample: Path | None = None) -> Agreement:
    """Write the model for another engine. `out` must be new, and is written completely or not at all."""
    if to not in FORMATS:
        raise WeftError(unknown("export", to, FORMATS))
    if out.exists():
        raise WeftError(f"{out} already exists; choose another --out.")
    draft = out.with_name(f".{out.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        found = trial(folder, to, draft, quantisation, sample)
        if not found.gap < (ROUNDING if quantisation == "float32" else math.inf):
            raise WeftError(
                f"the export does not match the model: log-probabilities of the same tokens differ by {found.gap:.2g}. "
                "Nothing was written; if weft check finds no fault in the model, please report this."
            )
        draft.replace(out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return found


def trial(folder: Folder, to: str, out: Path, quantisation: str = "float32", sample: Path | None = None) -> Agreement:
    """Write the model for another engine and measure how far the two agree, without judging it."""
    if find_spec(to) is None:
        raise WeftError(f"this export needs {to}: {install('export')}.")
    form = import_module(f"weft.exports.{to}")
    if quantisation not in form.QUANTISATIONS:
        raise WeftError(unknown(f"quantisation of {to}", quantisation, form.QUANTISATIONS))
    form.refuse_inexpressible(folder.plan())
    translator = Translator([folder])
    texts = _texts(folder, translator, sample)
    out.mkdir(parents=True)
    form.write(folder.plan(), translator.models[0], translator.tokeniser, out, quantisation)
    if card := folder.card():
        (out / "MODEL.md").write_text(card, encoding="utf-8")  # the licence travels with the model
    _try_in_a_child(to, out)
    return agreement(translator, form.Engine(out), texts)


def _try_in_a_child(to: str, folder: Path) -> None:
    """Load the export in a child process: engines choose their instructions, and some machines advertise ones that
    crash the process."""
    answer = ask(FIRST_WORDS.format(to=to), str(folder))
    if answer.trouble is not None:
        raise WeftError(
            f"{to} cannot run this export here: {answer.trouble}. Nothing was written; --quantize float32 needs "
            "the fewest instructions, and weft doctor shows what this machine supports."
        )


def _texts(folder: Folder, translator: Translator, sample: Path | None) -> list[str]:
    """The texts to check on: the user's lines, else the validation set, else those that weft ships for the language."""
    language = (translator.languages or ("",))[0]
    if sample is not None:
        texts = list(read_lines(sample))
    elif corpus := folder.validated_on():
        texts = [translator.tokeniser.decode(source.tolist()) for source, _ in islice(corpus, SAMPLE)]
    elif language in EXAMPLES:
        texts = list(EXAMPLES[language])
    else:
        raise WeftError(
            f"{folder.path} has no validation pairs to check the export on, and weft ships none in its language; "
            "give it some lines with --sample FILE."
        )
    fitting = [text for text in texts if text.strip() and len(translator.tokeniser.encode(text)) <= translator.limit]
    if not fitting:
        raise WeftError(f"{sample or folder.path} has no text of 1 to {translator.limit} tokens to check on.")
    return fitting

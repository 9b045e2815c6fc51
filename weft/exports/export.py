"""Exporting a model folder to another engine. The export is checked before its folder appears."""

import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from weft.data.codecs import TextCodec
from weft.data.reading import read_lines
from weft.errors import WeftError, install, unknown
from weft.exports.agreement import Agreement, agreement
from weft.exports.continuations import continuing_agreement
from weft.folder import Folder
from weft.machine import ask
from weft.models.base import Generative
from weft.plans.plan import Plan
from weft.plans.size import context_of
from weft.samples.sentences import EXAMPLES
from weft.tasks.translator import Translator


@dataclass(frozen=True)
class Format:
    """The package that an export needs, and by the shape of a model the module that writes it: each module has
    `refuse_inexpressible`, `write`, `Engine` and `QUANTISATIONS`."""

    package: str
    modules: Mapping[str, str]


FORMATS = {
    "ctranslate2": Format(
        "ctranslate2",
        {"encoder-decoder": "weft.exports.ctranslate2", "decoder": "weft.exports.ctranslate2_decoder"},
    ),
    "huggingface": Format("transformers", {"decoder": "weft.exports.huggingface"}),
    "gguf": Format("gguf", {"decoder": "weft.exports.gguf_file"}),
}
SAMPLE = 100  # validation texts that an export is checked on
CONTINUED = 20  # validation texts that an export of a language model is checked on
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
    plan = folder.plan()
    module = _module(plan, to)
    if quantisation not in module.QUANTISATIONS:
        raise WeftError(unknown(f"quantisation of {to}", quantisation, module.QUANTISATIONS))
    module.refuse_inexpressible(plan)
    check = _translating if "encoder" in plan.sides() else _continuing
    found: Agreement = check(module, folder, to, out, quantisation, sample)
    return found


def _module(plan: Plan, to: str) -> Any:
    """What writes a model of this shape in this format."""
    form = FORMATS[to]
    if plan.model.name not in form.modules:
        others = [name for name in FORMATS if plan.model.name in FORMATS[name].modules]
        known, hint = " or ".join(form.modules), f" Try --to {' or '.join(others)}." * bool(others)
        raise WeftError(f"export to {to} needs model={known}, got {plan.model.name}.{hint}")
    if find_spec(form.package) is None:
        raise WeftError(f"this export needs {form.package}: {install('export')}.")
    return import_module(form.modules[plan.model.name])


def _translating(form: Any, folder: Folder, to: str, out: Path, quantisation: str, sample: Path | None) -> Agreement:
    translator = Translator([folder])
    texts = texts_to_check(folder, translator, sample)
    out.mkdir(parents=True)
    form.write(folder.plan(), translator.models[0], translator.tokeniser, out, quantisation)
    _keep_card(folder, out)
    _try_in_a_child(to, FIRST_WORDS.format(to=to), out)
    return agreement(translator, form.Engine(out), texts)


def _continuing(form: Any, folder: Folder, to: str, out: Path, quantisation: str, sample: Path | None) -> Agreement:
    codec, model, about, plan = folder.codec(), folder.model(), folder.about(), folder.plan()
    assert isinstance(codec, TextCodec)
    assert isinstance(model, Generative)
    texts = _continued_texts(folder, codec, sample)
    out.mkdir(parents=True)
    form.write(plan, model, codec, about, out, quantisation)
    _keep_card(folder, out)
    if form.FIRST_WORDS is not None:
        _try_in_a_child(to, form.FIRST_WORDS, out)
    return continuing_agreement(model, codec, form.Engine(out), texts, bool(about.get("starts")), context_of(plan))


def _keep_card(folder: Folder, out: Path) -> None:
    if card := folder.card():
        (out / "MODEL.md").write_text(card, encoding="utf-8")  # the licence travels with the model


def _try_in_a_child(to: str, code: str, folder: Path) -> None:
    """Load the export in a child process: engines choose their instructions, and some machines advertise ones that
    crash the process."""
    answer = ask(code, str(folder))
    if answer.trouble is not None:
        raise WeftError(
            f"{to} cannot run this export here: {answer.trouble}. Nothing was written; --quantize float32 needs "
            "the fewest instructions, and weft doctor shows what this machine supports."
        )


def texts_to_check(folder: Folder, translator: Translator, sample: Path | None) -> list[str]:
    """The texts to check on: the user's lines, else the validation set, else those that weft ships for the language."""
    language = (translator.languages or ("",))[0]
    if sample is not None:
        texts = list(read_lines(sample))
    elif corpus := folder.validated_on():
        texts = [translator.tokeniser.decode(np.asarray(source).tolist()) for source, _ in islice(corpus, SAMPLE)]
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


def _continued_texts(folder: Folder, codec: TextCodec, sample: Path | None) -> list[str]:
    """The texts to check a language model on: the user's lines, else the validation set, else those that weft ships."""
    if sample is not None:
        texts = list(read_lines(sample))
    elif corpus := folder.validated_on():
        texts = [codec.decode(np.asarray(row[0]).tolist()) for row in islice(corpus, CONTINUED)]
    else:
        texts = list(EXAMPLES["en"])
    fitting = [text for text in texts if text.strip() and _has_ids(codec, text)]
    if not fitting:
        raise WeftError(
            f"{sample or folder.path} has no text to check the export on; give it lines with --sample FILE."
        )
    return fitting


def _has_ids(codec: TextCodec, text: str) -> bool:
    """Whether the vocabulary knows all of a text, which makes two tokens at least."""
    try:
        return len(codec.pieces_of([text])[0]) > 1
    except WeftError:
        return False

"""Making an engine, in a child process: some machines advertise instructions that kill the process that uses them."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.errors import NoRoom
from weft.exports.agreement import agreement
from weft.exports.ctranslate2 import Engine, write
from weft.exports.export import ROUNDING, texts_to_check
from weft.folder import Folder
from weft.tasks.translator import Translator


def make(path: str, out: str, precision: str) -> Mapping[str, Any]:
    """Write the engine of a model folder and compare the two; return what is recorded of it."""
    folder, draft = Folder(Path(path)), Path(out)
    translator = Translator([folder])
    try:
        write(folder.plan(), translator.models[0], translator.tokeniser, draft, precision)
        found = agreement(translator, Engine(draft), texts_to_check(folder, translator, None))
    except (OSError, MemoryError, NoRoom):
        raise  # another time it may work
    except Exception as error:  # CTranslate2 raises RuntimeError and ValueError
        return {"trouble": str(error)}
    farthest = max((abs(one.gain) for each in found.searched for one in each.different), default=0.0)
    trouble = None
    if not found.gap < (ROUNDING if precision == "float32" else math.inf):
        trouble = f"it does not agree with this model: log-probabilities of the same tokens differ by {found.gap:.2g}."
    elif precision == "float32" and not farthest < ROUNDING:
        trouble = f"it does not agree with this model: its translations differ, with a score {farthest:.2g} away."
    return {
        "trouble": trouble,
        "limit": translator.limit,
        "longest": translator.models[0].limits["target"],
        "gap": found.gap,
        "texts": found.texts,
        "searched": {f"beam {one.beam}": {"same": one.same, "cut": one.cut} for one in found.searched},
    }

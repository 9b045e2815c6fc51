"""weft: the whole Transformer in one small, fast, readable codebase. Train it, see inside it, ship it.

    weft.train("transformer-tiny", ["train.tsv"], ["dev.tsv"], "run")       a model of your own
    weft.load("en-de").translate(["How are you?"])      a model that ships with weft, or a run folder
    weft.load("en-de").attention("How are you?")        what it attends to
    weft.plan("transformer-base").build()               a new model, as a torch module

One legend of shapes for the whole package:

    B batch   S source length   T target length   D width   H heads   K head width   V vocabulary   N layers
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.engines.loading import load
    from weft.errors import WeftError
    from weft.plans.presets import plan
    from weft.tasks.translator import Translator
    from weft.training.run import train

__version__ = "0.1.0"
__all__ = ["Translator", "WeftError", "__version__", "load", "plan", "train"]

_HOMES = {
    "WeftError": "weft.errors",
    "Translator": "weft.tasks.translator",
    "load": "weft.engines.loading",
    "plan": "weft.plans.presets",
    "train": "weft.training.run",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Import on first use: torch takes a second, and `weft --help` does not need it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)

"""Loading a model together with its engine: whole, for everything that weft does, or for translating alone."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.data.texts import Texts, Translation
from weft.engines.choosing import Choice, equip

if TYPE_CHECKING:
    from weft.engines.ctranslate2 import CTranslate2
    from weft.tasks.translator import Translator


def load(
    names: str | Path,
    device: str = "cpu",
    verb: str | None = None,
    *,
    engine: str = "torch",
    precision: str = "float32",
) -> Any:
    """Load a trained model by the name of a shipped model or a run folder; several with commas form an ensemble.

    With a `verb`, a model for another verb is an error. The `engine` of a translator is torch, whose results are the
    same to the last bit on every call and which writes nothing to the disk; "auto" takes CTranslate2 where it can.
    """
    choice = Choice(engine, precision)  # before torch is imported
    from weft import tasks

    predictor = tasks.load(names, device, verb)
    equip([predictor], choice)
    return predictor


class Quick(Texts[tuple[int, float]]):
    """A translator by an engine alone, whose searches are a width and a length penalty. The model is loaded when there
    is a text that only torch can translate."""

    def __init__(self, name: str, engine: "CTranslate2"):
        self.name = name
        self.engine = engine
        self.codec = engine.codec
        self.limit = engine.limit
        self._known = {}

    def best_first(self, search: tuple[int, float]) -> tuple[int, float]:
        return search

    def compute(self, texts: Sequence[str], search: tuple[int, float]) -> list[list[Translation]]:
        from weft.decoding import best_first

        return self._translator.compute(texts, best_first(*search))

    @cached_property
    def _translator(self) -> "Translator":
        from weft.tasks import load

        translator: Translator = load(self.name, verb="translate")
        return translator

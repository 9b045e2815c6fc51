"""Each installed export rates translations as the model does."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from weft.checking.model_under_test import Finding, ModelUnderTest
from weft.errors import WeftError
from weft.exports.export import ROUNDING, trial


def exported(to: str) -> Callable[[ModelUnderTest], Finding | str]:
    def agrees(subject: ModelUnderTest) -> Finding | str:
        try:
            with TemporaryDirectory() as room:
                return Finding(trial(subject.folder, to, Path(room, "export")).gap, ROUNDING, "log-probability")
        except WeftError as error:  # it is not installed, or has no words for this plan
            return str(error)

    return agrees

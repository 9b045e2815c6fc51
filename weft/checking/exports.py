"""Check that each installed export scores translations like the model."""

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
        except WeftError as error:  # not installed, or it cannot express this plan
            return str(error)

    return agrees

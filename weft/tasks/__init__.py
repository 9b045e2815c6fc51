"""The tasks by name, and how a trained model is loaded."""

from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.folder import Folder
from weft.plans.catalogue import Catalogue
from weft.plans.plan import Plan
from weft.tasks.language_model import LanguageModel
from weft.tasks.predictor import Predictor
from weft.tasks.task import Task
from weft.tasks.translation import Translation

TASKS: Catalogue[Task[Any]] = Catalogue("task", (), {each.name: each for each in (Translation, LanguageModel)})


def task_of(plan: Plan) -> Task[Any]:
    return TASKS.build(plan.task)


def load(names: str | Path, device: str = "cpu", verb: str | None = None) -> Any:
    """Load a trained model by the name of a shipped model or a run folder; several with commas form an ensemble.

    With a `verb`, a model for another verb is an error.
    """
    folders = [Folder.find(name) for name in ([names] if isinstance(names, Path) else names.split(","))]
    tasks = [folder.plan().task for folder in folders]
    for folder, task in zip(folders, tasks):
        if task.name != tasks[0].name:
            raise WeftError(
                f"{folder.name} has task={task.name}, {folders[0].name} task={tasks[0].name}: "
                "an ensemble needs a single task."
            )
    predictor = task_of(folders[0].plan()).predictor(folders, device)
    if verb not in (None, predictor.verb):
        raise WeftError(f"{names} has task={tasks[0].name}; use weft {predictor.verb} {names}.")
    return predictor


__all__ = ["TASKS", "Predictor", "Task", "load", "task_of"]

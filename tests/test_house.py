"""The house stays a house: imports go downwards only, and the signs of a jungle are counted.

The rooms, from the ground up, and what each may know. A lazy import inside a function is an import, and so is the name
of a module in a string.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from inspect import signature
from pathlib import Path

import pytest

from weft.plans.part import Part
from weft.tasks import TASKS

HOUSE = Path(__file__).parent.parent / "weft"
FILES = sorted(HOUSE.rglob("*.py"))
SCRIPTS = [file for file in sorted(HOUSE.rglob("*.js")) if "vendor" not in file.parts]
LEAVES = sorted((HOUSE / "parts").glob("*.py"))

MAY_KNOW: dict[str, set[str]] = {
    "defaults": set(),
    "errors": set(),
    "disk": {"errors"},
    "machine": {"errors"},
    "samples": {"errors"},
    "parts": {"errors"},
    "models": {"errors", "parts"},
    "plans": {"errors", "disk", "parts", "models"},
    "data": {"errors", "disk", "parts", "models"},
    "decoding": {"defaults", "errors", "parts", "models", "data"},
    "evaluation": {"errors", "parts", "models", "data", "decoding"},
    "viewing": {"errors", "parts", "models", "data", "decoding", "evaluation"},
    "weights": {"errors", "disk"},
    "folder": {"errors", "disk", "models", "plans", "data", "weights"},
}
MAY_KNOW["tasks"] = set(MAY_KNOW) - {"machine", "samples"}
MAY_KNOW["training"] = MAY_KNOW["tasks"] | {"tasks", "machine"}
MAY_KNOW["imports"] = {"errors", "disk", "data", "plans", "weights", "folder"}
MAY_KNOW["exports"] = MAY_KNOW["tasks"] | {"tasks", "machine", "samples", "imports"}
MAY_KNOW["engines"] = MAY_KNOW["exports"] | {"exports"}
MAY_KNOW["serving"] = MAY_KNOW["tasks"] | {"tasks"}
MAY_KNOW["measuring"] = {"errors", "machine", "parts", "models", "plans", "data", "viewing"}
MAY_KNOW["checking"] = MAY_KNOW["exports"] | {"exports", "training"}
MAY_KNOW["commands"] = set(MAY_KNOW)
MAY_KNOW["__main__"] = {"commands"}
MAY_KNOW["__init__"] = {"errors", "plans", "engines", "tasks", "training"}  # the names that `import weft` offers


def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def room(file: Path) -> str:
    return file.relative_to(HOUSE).parts[0].removesuffix(".py")


def imported(file: Path) -> Iterator[str]:
    """Dotted names of every module that a file imports, at the top or inside a function."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            yield from ([f"weft.{alias.name}" for alias in node.names] if node.module == "weft" else [str(node.module)])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("weft."):
            where = HOUSE.joinpath(*node.value.split(".")[1:])
            if where.is_dir() or where.with_suffix(".py").is_file():
                yield node.value


def names(files: list[Path]) -> list[str]:
    return [str(file.relative_to(HOUSE)) for file in files]


def methods(name: str, files: list[Path]) -> Iterator[tuple[str, ast.FunctionDef]]:
    for file in files:
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.ClassDef):
                for method in node.body:
                    if isinstance(method, ast.FunctionDef) and method.name == name:
                        yield f"{file.name}: {node.name}", method


def test_every_room_is_in_the_table() -> None:
    assert {room(file) for file in FILES} == set(MAY_KNOW)


def test_the_table_itself_goes_downwards() -> None:
    """No room knows one that stands after it."""
    order = list(MAY_KNOW)
    for i, upper in enumerate(order):
        assert MAY_KNOW[upper] <= set(order[:i])


@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_imports_go_downwards_only(file: Path) -> None:
    known = {name.split(".")[1] for name in imported(file) if name.startswith("weft.")}
    assert known - {room(file)} <= MAY_KNOW[room(file)]


@pytest.mark.parametrize("file", LEAVES, ids=names(LEAVES))
def test_parts_know_only_torch_and_each_other(file: Path) -> None:
    packages = {name.split(".")[0] for name in imported(file)}
    assert packages <= {"torch", "numpy", "weft", *sys.stdlib_module_names}


LOW = {"bfloat16", "float16", "half", "autocast", "int8", "quantize_dynamic"}


@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_nobody_computes_in_low_precision_without_asking(file: Path) -> None:
    """Some machines kill whoever does: `torch.bfloat16`, `.half()` and their like go with `machine.may_use`."""
    used = {node.attr for node in ast.walk(tree(file)) if isinstance(node, ast.Attribute)} & LOW
    assert not used or file.name == "machine.py" or "may_use" in file.read_text(encoding="utf-8")


def test_an_import_inside_a_function_is_found(tmp_path: Path) -> None:
    """The eyes of this file see what they should."""
    (tmp_path / "hidden.py").write_text(
        "def f():\n    from weft.plans.plan import Plan\n    import weft.data\n    from weft import folder\n"
        "    import_module('weft.training.loop')\n    return 'weft.nothing'\n"
    )
    assert set(imported(tmp_path / "hidden.py")) == {
        "weft.plans.plan",
        "weft.data",
        "weft.folder",
        "weft.training.loop",
    }


@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_every_module_says_what_it_is(file: Path) -> None:
    found = tree(file)
    assert ast.get_docstring(found) or not found.body


@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_no_file_is_longer_than_400_lines(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 400


def test_no_leaf_takes_more_than_eight_things() -> None:
    counts = {where: len(m.args.args) + len(m.args.kwonlyargs) - 1 for where, m in methods("__init__", LEAVES)}
    assert counts
    assert {where: count for where, count in counts.items() if count > 8} == {}


def test_no_forward_is_longer_than_thirty_lines() -> None:
    lines = {where: (m.end_lineno or 0) - m.lineno + 1 for where, m in methods("forward", FILES)}
    assert lines
    assert {where: count for where, count in lines.items() if count > 30} == {}


def test_no_forward_asks_which_kind_it_is() -> None:
    """`if self.kind == "…"` is a slot that was not made."""
    asked = [
        where
        for where, method in methods("forward", FILES)
        for node in ast.walk(method)
        if isinstance(node, ast.Compare)
        and ast.unparse(node.left).startswith("self.")
        and any(isinstance(other, ast.Constant) and isinstance(other.value, str) for other in node.comparators)
    ]
    assert asked == []


def names_used(file: Path) -> set[str]:
    """Every name in the code of a file."""
    found = tree(file)
    said = [node.id for node in ast.walk(found) if isinstance(node, ast.Name)]
    said += [node.attr for node in ast.walk(found) if isinstance(node, ast.Attribute)]
    said += [alias.name for node in ast.walk(found) if isinstance(node, ast.ImportFrom) for alias in node.names]
    return set(said)


CONCRETE_MODELS = {
    node.name
    for file in sorted((HOUSE / "models").glob("*.py"))
    if file.name != "base.py"
    for node in tree(file).body
    if isinstance(node, ast.ClassDef)
}


@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_only_models_and_assemble_name_a_concrete_model(file: Path) -> None:
    assert CONCRETE_MODELS
    if room(file) != "models" and file.relative_to(HOUSE) != Path("plans/assemble.py"):
        assert not names_used(file) & CONCRETE_MODELS


def is_task(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef) and (
        node.name == "Task" or any(ast.unparse(base).startswith("Task") for base in node.bases)
    )


@cache
def task_classes() -> set[str]:
    """Tasks and predictors, by the names of their classes."""
    found = {node.name for each in sorted((HOUSE / "tasks").glob("*.py")) for node in tree(each).body if is_task(node)}
    assert {"Translation", "LanguageModel"} <= found
    return {
        *found,
        "Predictor",
        *(signature(TASKS.build(Part(name)).predictor).return_annotation.__name__ for name in TASKS),
    }


KINDS = {*TASKS, *(TASKS.build(Part(name)).verb for name in TASKS)}
OTHER_MEANING = {  # of the same word
    "serving/html_reading.py": {"translate"},  # an attribute of HTML
    "serving/app.py": {"translate"},  # the name of a router
}
ALLOWED_TO_NAME = {"tasks", "commands"}
REMAINING = {"serving/model.py": ["isinstance(predictor, Translator)"]}  # to be replaced by a method


def asked(found: ast.Module) -> Iterator[str]:
    """The names of tasks and verbs that code compares something with, or looks something up by."""
    for node in ast.walk(found):
        sides: list[ast.AST | None] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Match):
            sides = [case.pattern for case in node.cases]
        elif isinstance(node, ast.Dict) and {getattr(key, "value", None) for key in node.keys} <= KINDS:
            sides = list(node.keys)
        words = [each.value for side in sides if side for each in ast.walk(side) if isinstance(each, ast.Constant)]
        yield from (word for word in words if word in KINDS)


def kinds_asked(found: ast.Module, classes: set[str]) -> list[str]:
    """The `isinstance` of tasks and predictors, but for assertions, which decide nothing."""
    asserted = {each for node in ast.walk(found) if isinstance(node, ast.Assert) for each in ast.walk(node)}
    return [
        ast.unparse(node)
        for node in ast.walk(found)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass")
        if node not in asserted and classes & {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    ]


@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_no_code_asks_which_task_it_serves(file: Path) -> None:
    """`task.name == "…"` and `isinstance(…, Translation)` are methods that were not made."""
    where = str(file.relative_to(HOUSE))
    if room(file) not in ALLOWED_TO_NAME:
        assert set(asked(tree(file))) <= OTHER_MEANING.get(where, set())
    assert kinds_asked(tree(file), task_classes()) == REMAINING.get(where, [])


@pytest.mark.parametrize("file", SCRIPTS, ids=names(SCRIPTS))
def test_no_script_asks_which_task_it_serves(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    words = "|".join(KINDS)
    assert not re.findall(rf"(?:[=!]==?|case)\s*[\"'`](?:{words})[\"'`]|[\"'`](?:{words})[\"'`]\s*[=!]==?", text)
    assert "bleu" not in text.lower()


@pytest.mark.parametrize(
    "code",
    [
        "name = plan.task.name\nif name == 'translation': pass",
        "if predictor.verb != 'translate': pass",
        "if verb in ('translate', 'other'): pass",
        "match verb:\n    case 'generate': pass",
        "{'translation': 1, 'language-model': 2}[name]",
        "isinstance(thing, Translator)",
        "if not isinstance(thing, (int, weft.Generator, Generator)): pass",
    ],
)
def test_a_question_about_the_task_is_found(code: str) -> None:
    assert [*asked(ast.parse(code)), *kinds_asked(ast.parse(code), task_classes())]


@pytest.mark.parametrize("code", ["corpus_bleu()", "result.bleu_score", "def f(bleu): pass", "'the BLEU of'"])
def test_bleu_is_found(code: str) -> None:
    assert bleu(ast.parse(code))


def bleu(found: ast.Module) -> list[str]:
    """Every word of code or text with BLEU in it, but for the name of the package."""
    words = [str(value) for node in ast.walk(found) for _, value in ast.iter_fields(node) if isinstance(value, str)]
    return [word for word in words if "bleu" in word.lower().replace("sacrebleu", "")]


@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_bleu_is_named_in_evaluation_and_translation_only(file: Path) -> None:
    if room(file) == "evaluation" or file.relative_to(HOUSE).parts[:2] in (
        ("tasks", "translation.py"),
        ("tasks", "translator.py"),
    ):
        return
    assert bleu(tree(file)) == []

"""The house stays a house: imports go downwards only, and the signs of a jungle are counted.

The rooms, from the ground up, and what each may know. A lazy import inside a function is an import, and so is the name
of a module in a string.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).parent.parent / "weft"
FILES = sorted(HOUSE.rglob("*.py"))
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
MAY_KNOW["serving"] = MAY_KNOW["tasks"] | {"tasks"}
MAY_KNOW["measuring"] = {"errors", "machine", "parts", "models", "plans", "data", "viewing"}
MAY_KNOW["checking"] = MAY_KNOW["exports"] | {"exports", "training"}
MAY_KNOW["commands"] = set(MAY_KNOW)
MAY_KNOW["__main__"] = {"commands"}
MAY_KNOW["__init__"] = {"errors", "plans", "tasks", "training"}  # the names that `import weft` offers


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


@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_no_code_asks_which_task_it_serves(file: Path) -> None:
    """`task.name == "…"` and `isinstance(…, Translation)` are methods that were not made."""
    tasks = {node.name for each in sorted((HOUSE / "tasks").glob("*.py")) for node in tree(each).body if is_task(node)}
    assert {"Translation", "LanguageModel"} <= tasks
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            has_name = any(
                isinstance(side, ast.Attribute) and ast.unparse(side).endswith("task.name") for side in sides
            )
            constants = (ast.Constant, ast.Tuple, ast.List, ast.Set)
            assert not (has_name and any(isinstance(side, constants) for side in sides)), ast.unparse(node)
        if isinstance(node, ast.Match):
            assert not ast.unparse(node.subject).endswith("task.name"), ast.unparse(node.subject)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            assert not tasks & {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}


@pytest.mark.parametrize("file", FILES, ids=names(FILES))
def test_bleu_is_named_in_evaluation_and_translation_only(file: Path) -> None:
    if room(file) == "evaluation" or file.relative_to(HOUSE).parts[:2] in (
        ("tasks", "translation.py"),
        ("tasks", "translator.py"),
    ):
        return
    words = [
        node.value for node in ast.walk(tree(file)) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert not [word for word in [*words, *names_used(file)] if re.search(r"\bbleu\b", word, re.IGNORECASE)]

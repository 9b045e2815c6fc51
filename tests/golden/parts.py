"""How parts described themselves before they did so themselves: diagrams, parameters by part, initial weights.

python -m tests.golden.parts        writes parts.json; run once, at fee08f4
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tests.contracts.tiny import TINY_TRANSLATORS, tiny_plan
from tests.golden.record import machine
from weft.plans.catalogues import INITS
from weft.plans.presets import names, plan
from weft.plans.size import outline, parameters_by_part
from weft.viewing.anatomy import diagram

FILE = Path(__file__).parent / "parts.json"


def fingerprint(model: nn.Module) -> float:
    """A number in which every weight of a model has its own share."""
    weights = torch.cat([weight.detach().flatten().double() for weight in model.parameters()])
    return float(weights @ torch.arange(len(weights), dtype=torch.float64).cos())


def initial(name: str, init: str) -> float:
    recipe = tiny_plan("preset", name).with_settings({"init": init, "dropout": 0.2})
    torch.manual_seed(1)
    return fingerprint(recipe.build())


def drawn(name: str) -> dict[str, Any]:
    """A diagram as plain data, its sides next to the rest."""
    plain = asdict(diagram(outline(tiny_plan("preset", name))))
    return {**plain.pop("sides"), **plain}


def computed() -> dict[str, Any]:
    return {
        "parameters": {name: dict(parameters_by_part(outline(plan(name)))) for name in names()},
        "diagrams": {name: drawn(name) for name in TINY_TRANSLATORS},
        "initial": {f"{name} {init}": initial(name, init) for name in TINY_TRANSLATORS for init in INITS},
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps({"machine": machine(), **computed()}, ensure_ascii=False) + "\n")

"""What the contracts share: sizes, a tiny plan for every catalogue entry, and a way to disk and back."""

from collections.abc import Iterator
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from weft.data.codecs.subwords import END, PAD
from weft.plans.catalogues import ALL, CROSSES, DECODERS, ENCODERS, MIXERS
from weft.plans.part import Part
from weft.plans.plan import Plan
from weft.plans.presets import names, plan

B, T, D, V = 3, 5, 16, 260  # 16: the default of 8 heads divides it

TINY = {"width": D, "layers": 2, "dropout": 0.0, "vocabulary": V}


def under(name: str) -> dict[str, Any]:
    """The settings of a decoder of this kind, and of an encoder that gives what it needs: by what it declares."""
    declared = DECODERS.makes(name)
    settings: dict[str, Any] = dict.fromkeys((*declared.without, *declared.without_at_bottom), "none")
    settings["cross"] = "none" if declared.source else "attention"
    if declared.most_layers is not None:
        settings["layers"] = declared.most_layers
    if declared.is_recurrent:
        settings |= {"mixer": "lstm", "encoder.mixer": {"name": "lstm", "direction": "backward"}}
        settings |= dict.fromkeys(("feed_forward", "norm", "join"), "none")  # states alone are handed on
    givers = [giver for giver in ENCODERS if ENCODERS.makes(giver).gives == declared.needs]
    return {**settings, "encoder.stack": givers[0], "decoder.stack": name}


def over(name: str) -> dict[str, Any]:
    """The settings of an encoder of this kind, and of a decoder that uses what it gives."""
    declared, settings = ENCODERS.makes(name), {}
    for extra in declared.gives:
        decoders = [each for each in DECODERS if extra in (*DECODERS.makes(each).needs, *DECODERS.makes(each).uses)]
        crosses = [each for each in CROSSES if extra in getattr(CROSSES.makes(each), "uses", ())]
        settings |= under(decoders[0]) if decoders else {"cross": crosses[0]}
    if not declared.keeps_tokens:
        settings["mixer"] = next(each for each in MIXERS if not MIXERS.makes(each).attends)
    return {**settings, "encoder.stack": name}


# For each slot, the settings that put a part into a whole model.
PLACES: dict[str, Any] = {
    "mixer": lambda name: {"mixer": name},
    "mixer.position": lambda name: {"mixer": {"name": "attention", "position": name}},
    "mixer.pattern": lambda name: {"mixer": {"name": "attention", "pattern": name}},
    "cross": lambda name: under("bytenet") if name == "none" else {"cross": name},
    "feed_forward": lambda name: {"feed_forward": name},
    "activation": lambda name: {"feed_forward": {"name": "mlp", "activation": name}},
    "norm": lambda name: {"norm": name},
    "join": lambda name: {"join": name},
    "wiring": lambda name: {"wiring": name},
    "encoder.stack": over,
    "decoder.stack": under,
    "embedding": lambda name: {"embedding": name},
    "position": lambda name: {"position": name, "head": "linear"},  # a tied head cannot go with every position
    "head": lambda name: {"head": name},
    "init": lambda name: {"init": name},
}


TRANSLATORS = [name for name in names() if plan(name).task.name == "translation"]
TINY_TRANSLATORS = [name for name in TRANSLATORS if name.endswith("-tiny")]


def every_model() -> Iterator[tuple[str, str]]:
    """Slot and name of every part that can stand in a model, and the small translator of every family."""
    for catalogue in ALL:
        if catalogue.slot in PLACES:
            yield from ((catalogue.slot, name) for name in catalogue)
    yield from (("preset", name) for name in TINY_TRANSLATORS)


def model_with(slot: str, name: str) -> nn.Module:
    """A tiny model with this part in its slot, in double precision, with no weight at zero or one by chance."""
    return stirred(tiny_plan(slot, name).build().double().eval())


def tiny_plan(slot: str, name: str) -> Plan:
    if slot != "preset":
        return Plan().with_settings({**TINY, **PLACES[slot](name)})
    found = plan(name)
    layers = min(found.decoder.layers, 3)  # some need one; the residual connections of others begin with the third
    return found.with_settings({**TINY, "layers": layers})


def stirred(module: nn.Module) -> nn.Module:
    """Biases leave zero and gains leave one, so that nothing is equal only because it is zero."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return module


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def sentences(*lengths: int) -> Tensor:
    """Random ids with END last, filled up with PAD."""
    rows = torch.full((len(lengths), max(lengths)), PAD)
    for row, length in zip(rows, lengths):
        row[: length - 1] = torch.randint(4, V, (length - 1,))
        row[length - 1] = END
    return rows


def there_and_back(module: nn.Module) -> dict[str, Tensor]:
    """The parameters of a module, stored and read again."""
    return load(save({name: value.detach().contiguous() for name, value in module.named_parameters()}))


def filled(module: nn.Module, weights: dict[str, Tensor]) -> nn.Module:
    """A module with every one of its parameters taken from `weights`, and nothing left over."""
    wanted = dict(module.named_parameters())
    assert wanted.keys() == weights.keys()
    with torch.no_grad():
        for name, parameter in wanted.items():
            parameter.copy_(weights[name])
    return module


def without_gradient(module: nn.Module) -> list[str]:
    """Names of the parameters that a backward pass did not reach."""
    return [name for name, p in module.named_parameters() if p.grad is None or not p.grad.any()]


def part(catalogue: Any, choice: Part | str, *given: Any) -> Any:
    """A part with its defaults."""
    made = catalogue.build(choice, *given)
    return stirred(made.double()) if isinstance(made, nn.Module) else made

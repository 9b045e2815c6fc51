"""What the contracts share: sizes, a tiny plan for every catalogue entry, and a way to disk and back."""

from collections.abc import Iterator
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from weft.data.codecs.subwords import END, PAD
from weft.plans.catalogues import ALL
from weft.plans.part import Part
from weft.plans.plan import Plan
from weft.plans.presets import names, plan

B, T, D, V = 3, 5, 16, 260  # 16: the default of 8 heads divides it

TINY = {"width": D, "layers": 2, "dropout": 0.0, "vocabulary": V}

LAYERS_ALONE = {"feed_forward": "none", "norm": "none", "join": "none"}
RECURRENT = {**LAYERS_ALONE, "mixer": "lstm", "cross": "additive"}
GOING_ON = {**RECURRENT, "encoder.mixer": {"name": "lstm", "direction": "backward"}, "encoder.stack": "final-states"}

# Decoders that are more than a list of layers, with what they are made of.
DECODERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "from-encoder-state": {**GOING_ON, "cross": "none"},
    "bahdanau": {**RECURRENT, "mixer": "gru", "layers": 1},
    "gnmt": {**RECURRENT, "layers": 3},
    "input-feeding": GOING_ON,
    "convs2s": {**LAYERS_ALONE, "mixer": "convolution", "join": "scaled-add", "cross": "dot"},
    "bytenet": {"mixer": "bottleneck", "cross": "none"},
}

# Encoders, under decoders that take up what they hand on.
ENCODERS: dict[str, dict[str, Any]] = {
    "plain": {"encoder.stack": "plain"},
    "final-states": {**GOING_ON, "decoder.stack": "input-feeding"},
    "with-embeddings": {"encoder.stack": "with-embeddings", "cross": "dot"},
    "stretched": {**DECODERS["bytenet"], "encoder.stack": "stretched", "decoder.stack": "bytenet"},
}

# For each slot, the settings that put a part into a whole model.
PLACES: dict[str, Any] = {
    "mixer": lambda name: {"mixer": name},
    "mixer.position": lambda name: {"mixer": {"name": "attention", "position": name}},
    "mixer.pattern": lambda name: {"mixer": {"name": "attention", "pattern": name}},
    "cross": lambda name: {"cross": name, **({"decoder.stack": "bytenet"} if name == "none" else {})},
    "feed_forward": lambda name: {"feed_forward": name},
    "activation": lambda name: {"feed_forward": {"name": "mlp", "activation": name}},
    "norm": lambda name: {"norm": name},
    "join": lambda name: {"join": name},
    "wiring": lambda name: {"wiring": name},
    "encoder.stack": lambda name: ENCODERS[name],
    "decoder.stack": lambda name: {**DECODERS[name], "decoder.stack": name},
    "embedding": lambda name: {"embedding": name},
    "position": lambda name: {"position": name, "head": "linear"},  # a tied head cannot go with every position
    "head": lambda name: {"head": name},
    "init": lambda name: {"init": name},
}


def every_model() -> Iterator[tuple[str, str]]:
    """Slot and name of every part that can stand in a model, and the small one of every family."""
    for catalogue in ALL:
        if catalogue.slot in PLACES:
            yield from ((catalogue.slot, name) for name in catalogue)
    yield from (("preset", name) for name in names() if name.endswith("-tiny"))


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

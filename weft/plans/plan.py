"""A plan is plain data: which part stands in each slot, and only the options that differ.

Frozen dataclasses, readable and writable as YAML. A run folder carries the plan it was built from, and a model can
always be rebuilt from it. The defaults here are those of the 2017 paper's base model.
"""

# ruff: noqa: RUF009  (a Part is immutable: one may be the default of every plan)

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_type_hints

import yaml

from weft.disk import write_text
from weft.errors import WeftError, unknown
from weft.models.base import Model
from weft.parts.options import LONGEST, Number, Option, Rate
from weft.plans import aliases
from weft.plans.notation import LARGEST, read_yaml, write_yaml
from weft.plans.part import Part

Value = TypeVar("Value")
Slot = Part | tuple[Part, ...]  # several parts are dealt out to the layers in turn

# What users look for under a name that is too far from the one here to be guessed, and that is not the same thing.
RELATED = {
    "attention": "cross",
    "score": "cross",
    "cell": "mixer",
    "rnn": "mixer",
    "bidirectional": "mixer.direction",
    "epochs": "steps",
}


def setting(default: Value, about: str | Option) -> Value:
    """A field of a plan: its default, what it means, and which values it may have."""
    return field(default=default, metadata={"option": Option(about) if isinstance(about, str) else about})


@dataclass(frozen=True)
class Encoder:
    is_causal: ClassVar[bool] = False  # whether a position may depend on those before it only

    layers: int = setting(6, Number("number of layers", 1, 1000))
    dropout: float = setting(0.1, Rate("dropout after the embeddings and each sub-layer"))
    mixer: Slot = setting(Part("attention"), "sub-layer that mixes the positions of a sequence")
    feed_forward: Slot = setting(Part("mlp"), "sub-layer that works on each position by itself")
    norm: Slot = setting(Part("layer"), "normalisation")
    join: Slot = setting(Part("add"), "residual connection around a sub-layer f")
    wiring: Slot = setting(Part("post"), "where the normalisation is placed")
    stack: Part = setting(Part("plain"), "how the layers are connected")


@dataclass(frozen=True)
class Decoder(Encoder):
    is_causal: ClassVar[bool] = True

    cross: Slot = setting(Part("attention"), "sub-layer that attends to the encoder's output")


@dataclass(frozen=True)
class Training:
    steps: int = setting(100_000, Number("optimiser steps", 1))
    batch_tokens: int = setting(25_000, Number("most tokens per batch and side, padding included", 1))
    accumulate: int = setting(1, Number("batches per optimiser step", 1))
    optimiser: Part = setting(Part("adam"), "how gradients move the weights")
    rate: float = setting(7e-4, Number("peak learning rate"))
    schedule: Part = setting(Part("inverse-sqrt"), "learning rate over time")
    beta1: float = setting(0.9, Rate("Adam: decay of the mean of the gradients"))
    beta2: float = setting(0.98, Rate("Adam: decay of the mean of their squares"))
    epsilon: float = setting(1e-9, Number("Adam: added to the denominator"))
    weight_decay: float = setting(0.0, Number("decoupled weight decay", 0))
    clip: float = setting(1.0, Number("largest norm of the gradient; 0: no clipping", 0))
    bpe_dropout: float = setting(0.0, Rate("probability of skipping a BPE merge (arXiv:1910.13267)"))
    longest: int = setting(200, Number("skip training pairs longer than this, in tokens", 1, LONGEST))
    validate_every: int = setting(1000, Number("steps between validations; each writes a checkpoint", 1))
    patience: int = setting(0, Number("validations without improvement until it stops; 0: never", 0))
    best_by: str = setting("auto", "score that chooses checkpoints, such as loss; auto: the task's own")
    ema: float = setting(0.0, Rate("decay of the running mean of the weights, which is what is kept; 0: none"))
    average: str = setting("last", Option("checkpoints averaged at the end", words=("last", "best")))
    average_of: int = setting(5, Number("how many checkpoints are averaged; with ema it is one", 1))
    precision: str = setting(
        "auto", Option("of matrix products, by default the faster", words=("auto", "float32", "bfloat16"))
    )
    seed: int = setting(1, Number("random seed", 0, 2**62))
    batching: Part = setting(Part("by-length"), "which examples make a batch")


@dataclass(frozen=True)
class Plan:
    name: str = setting("unnamed", "name of the plan")
    about: str = setting("", "the plan in one line")
    task: Part = setting(Part("translation"), "what the model learns to do")
    model: Part = setting(Part("encoder-decoder"), "shape of the model")
    codec: Part = setting(Part("subwords"), "how values become token ids")
    width: int = setting(512, Number("features per position: D, d_model", 1, 2**16))
    vocabulary: int = setting(37_000, Number("number of tokens, of both languages together in translation", 1, 2**24))
    embedding: Part = setting(Part("scaled"), "token embedding")
    position: Part = setting(Part("sinusoid"), "how the order of the tokens is encoded")
    head: Part = setting(Part("tied", {"smoothing": 0.1}), "output layer, from features to token probabilities")
    sharing: str = setting("joint", Option("source and target embeddings", words=("joint", "separate")))
    encoder: Encoder = setting(Encoder(), "reads the source")
    decoder: Decoder = setting(Decoder(), "writes the target, token by token")
    init: Part = setting(Part("xavier"), "initial weights")
    training: Training = setting(Training(), "optimiser, batches, validation and checkpoints")

    def with_settings(self, settings: Mapping[str, Any] | Iterable[str]) -> "Plan":
        """A plan with some settings replaced: {"encoder.layers": 4} or ["encoder.layers=4"].

        A key is a path. A first word that stands in several sections (`dropout`, `feed_forward`) sets all of them.
        """
        plan, wrong = self, []
        if isinstance(settings, str):
            settings = [settings]
        given: Iterable[tuple[str, Any] | str] = settings.items() if isinstance(settings, Mapping) else settings
        pairs: list[tuple[str, Any]] = []
        for setting in given:
            try:
                pairs.append(_key_and_value(setting) if isinstance(setting, str) else setting)
            except WeftError as error:
                wrong.append(str(error))
        for key, value in sorted(pairs, key=lambda pair: pair[0] != "model"):  # which decides what sections there are
            try:
                for path in _paths(plan, key):
                    plan = _replaced(plan, path, value, key)
            except WeftError as error:
                wrong.append(str(error))
        plan = replace(plan, **{name: getattr(Plan, name) for name in plan.unused()})
        if wrong:
            from weft.plans.rules import wrong_choices  # it needs Plan

            raise WeftError("\n".join([*wrong, *wrong_choices(plan)]))
        return plan

    def sides(self) -> dict[str, Encoder]:
        """The sides of the model, by the names of their sections."""
        from weft.plans.assemble import MODELS  # it needs Plan

        sections = MODELS.makes(self.model.name).sections if self.model.name in MODELS else ("encoder", "decoder")
        return {name: getattr(self, name) for name in sections}

    def unused(self) -> set[str]:
        """Fields that a model of this shape does not have."""
        return {"encoder", "decoder", *(("sharing",) if len(self.sides()) < 2 else ())} - self.sides().keys()

    def to_dict(self) -> dict[str, Any]:
        """As nested dictionaries, the way YAML has it."""
        return {name: value for name, value in _plain(self).items() if name not in self.unused()}

    def write(self, file: Path) -> None:
        write_text(file, write_yaml(self.to_dict()))

    @classmethod
    def from_dict(cls, data: Any, where: str) -> "Plan":
        """From nested dictionaries; whatever is not said has its default. All problems in one report."""
        if not isinstance(data, dict):
            raise WeftError(f"{where}: a plan is a mapping of sections, not {type(data).__name__}.")
        settings = dict(_leaves(data))
        try:
            return cls().with_settings(settings)
        except WeftError as error:
            raise WeftError(f"{where}:\n{error}") from None

    def build(self, vocabulary: int | None = None) -> Model:
        """The model, initialised; `vocabulary` where it turned out other than planned."""
        from weft.plans.assemble import MODELS  # it needs Plan
        from weft.plans.rules import check

        plan = self if vocabulary is None else self.with_settings({"vocabulary": vocabulary})
        check(plan)
        return MODELS.build(plan.model, plan)


def parts_of(slot: Slot) -> tuple[Part, ...]:
    """The parts in a slot, as a tuple also if there is only one."""
    return slot if isinstance(slot, tuple) else (slot,)


def part_of_layer(slot: Slot, i: int) -> Part:
    """The part of layer i: a list of parts is assigned to the layers in turn."""
    parts = parts_of(slot)
    return parts[i % len(parts)]


def _key_and_value(setting: str) -> tuple[str, Any]:
    key, equals, value = setting.partition("=")
    if not equals:
        raise WeftError(f"a setting is key=value, not {setting!r}.")
    try:
        return key.strip(), read_yaml(value) if value.strip() else ""
    except yaml.YAMLError:
        raise WeftError(f"{key}: {value!r} is not a value that YAML can read.") from None


def _sections(plan: Plan) -> dict[str, Any]:
    return {**plan.sides(), "training": plan.training}


def _names(thing: Any) -> list[str]:
    return [f.name for f in fields(thing)]


def _paths(plan: Plan, key: str) -> list[list[str]]:
    """Where a key points to: one path, or one in each section that knows its first word."""
    words = aliases.setting(str(key)).split(".")
    sections = _sections(plan)
    if words[0] in sections and len(words) == 1:
        inner = ", ".join(f"{key}.{name}" for name in _names(sections[words[0]]))
        raise WeftError(f"{key} is a section; set one of {inner}.")
    if words[0] in plan.unused():
        raise WeftError(f"{key}: model {plan.model.name} has no {words[0]}.")
    if words[0] in _names(plan):
        return [words]
    places = [[section, *words] for section, thing in sections.items() if words[0] in _names(thing)]
    if not places:
        from weft.plans.rules import having, settings_of_parts  # it needs Plan

        if near := RELATED.get(words[0]) or " or ".join(settings_of_parts(plan).get(words[0], ())):
            raise WeftError(f"there is no setting {words[0]!r}. Did you mean {near}? `weft show PLAN` lists all.")
        if owners := having(words[0]):
            raise WeftError(
                f"no part of this plan has option {words[0]!r}; {' and '.join(owners)} do. `weft show parts` lists all."
            )
        every = [*_names(plan), *(name for thing in sections.values() for name in _names(thing))]
        raise WeftError(unknown("setting", words[0], set(every), "weft show PLAN"))
    return places


def _replaced(thing: Any, path: list[str], value: Any, key: str) -> Any:
    """A copy of `thing` with the value at the end of the path."""
    name, *rest = path
    if isinstance(thing, tuple):
        return tuple(_replaced(part, path, value, key) for part in thing)
    if isinstance(thing, Part):
        if not rest:
            return thing.with_option(name, value)
        if name not in thing.options:
            raise WeftError(f"{key}: {name} has its default; set {name} itself before its options.")
        return thing.with_option(name, _replaced(Part.read(thing.options[name], key), rest, value, key).to_dict())
    if name not in _names(thing):
        raise WeftError(f"{key}: {unknown('setting', name, _names(thing), 'weft show PLAN')}")
    old = getattr(thing, name)
    if not rest:
        kind = get_type_hints(type(thing))[name]
        return replace(
            thing, **{name: _parts(value, kind, name, key) if kind in (Part, Slot) else _read(old, value, key)}
        )
    if isinstance(old, str | int | float):
        raise WeftError(f"{key}: {name} is a plain {type(old).__name__} and has no options.")
    return replace(thing, **{name: _replaced(old, rest, value, key)})


def _parts(value: Any, kind: Any, slot: str, key: str) -> Slot:
    if not isinstance(value, list | tuple):
        return _part(value, slot, key)
    if kind is Part:
        raise WeftError(f"{key}: expected one part, got a list.")
    if not value:
        raise WeftError(f"{key}: expected at least one part, got an empty list.")
    return tuple(_part(part, slot, key) for part in value)


def _part(value: Any, slot: str, key: str) -> Part:
    part = Part.read(value, key)
    return replace(part, name=aliases.part(slot, part.name))


def _read(old: Any, value: Any, key: str) -> Any:
    """A new value for a field, of the kind the old one is."""
    if isinstance(old, float) and isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = float(value)
    if isinstance(old, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(old, int) and isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST:
        value = int(value)
    if type(value) is not type(old):
        raise WeftError(f"{key}: expected {type(old).__name__}, got {value!r}.")
    return value


def _plain(thing: Any) -> Any:
    if is_dataclass(thing) and not isinstance(thing, Part):
        return {f.name: _plain(getattr(thing, f.name)) for f in fields(thing)}
    if isinstance(thing, tuple):
        return [part.to_dict() for part in thing]
    return thing.to_dict() if isinstance(thing, Part) else thing


def _leaves(data: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Nested sections as paths: {"encoder": {"layers": 4}} → ("encoder.layers", 4)."""
    sections = get_type_hints(Plan)
    for key, value in data.items():
        is_section = is_dataclass(sections.get(str(key))) and sections[key] is not Part
        if (is_section or f"{key}." == aliases.FORMER_SECTION) and isinstance(value, dict):
            yield from ((f"{key}.{inner}", v) for inner, v in value.items())
        else:
            yield str(key), value

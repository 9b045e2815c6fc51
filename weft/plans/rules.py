"""The rules of plans: everything that cannot be built is reported, in one error.

Stacks, mixers and crosses declare what they need and give (`parts.layers`, `parts.mixer`); no rule knows one by name.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from itertools import chain
from typing import Any

import torch

from weft.errors import WeftError
from weft.parts.heads import Head
from weft.parts.layers import FINAL_STATES, Decoder, EncoderStack
from weft.parts.mixer import Mixer
from weft.plans import catalogues as c
from weft.plans.assemble import MODELS
from weft.plans.catalogue import Catalogue
from weft.plans.part import Part
from weft.plans.plan import Plan, Slot, part_of_layer, parts_of

SIDE_SLOTS: dict[str, Catalogue[Any]] = {
    each.slot: each for each in (c.MIXERS, c.CROSSES, c.FEED_FORWARDS, c.NORMS, c.JOINS, c.WIRINGS)
}
STACKS: dict[str, Catalogue[Any]] = {"encoder": c.ENCODERS, "decoder": c.DECODERS}
MODEL_SLOTS: tuple[Catalogue[Any], ...] = (c.EMBEDDINGS, c.POSITIONS, c.HEADS, c.INITS)
TRAINING_SLOTS: tuple[Catalogue[Any], ...] = (c.OPTIMISERS, c.SCHEDULES, c.BATCHINGS)

NONE = "none"  # in any slot, the part that does nothing
# Of the classes in these slots.
BASES = {"encoder.stack": EncoderStack, "decoder.stack": Decoder, "mixer": Mixer, "cross": Mixer, "head": Head}


def check(plan: Plan) -> None:
    """Raise one error that lists everything wrong with a plan."""
    if wrong := problems(plan):
        raise WeftError(f"plan {plan.name!r} cannot be built:\n" + "\n".join(f"  {line}" for line in wrong))


def problems(plan: Plan) -> list[str]:
    """Everything wrong with a plan, a sentence each."""
    return _merged(chain(_wrong_choices(plan), _combinations(plan)))


def wrong_choices(plan: Plan) -> list[str]:
    """What is wrong with each choice by itself, without regard to the others."""
    return _merged(_wrong_choices(plan))


def _wrong_choices(plan: Plan) -> Iterator[str]:
    for where, catalogue, part in every_part(plan):
        yield from catalogue.problems(part, where)
    for where, part in (("task", plan.task), ("codec", plan.codec)):
        for option in part.options:
            yield f"{where}: {part.name} has no option {option!r}."
    yield from _settings(plan)


def _merged(lines: Iterable[str]) -> list[str]:
    """A problem in several places, such as one choice for both sides, as one line that names them all."""
    places: dict[str, dict[str, None]] = {}  # dictionaries keep the order and drop repetitions
    for line in lines:
        where, _, sentence = line.partition(": ")
        places.setdefault(sentence, {})[where] = None
    return [f"{', '.join(found)}: {sentence}" for sentence, found in places.items()]


def every_part(plan: Plan) -> Iterator[tuple[str, Catalogue[Any], Part]]:
    """Every part of a plan, with its setting and its catalogue."""
    yield "model", MODELS, plan.model
    for side, slots in plan.sides().items():
        for slot, catalogue in SIDE_SLOTS.items():
            for part in parts_of(getattr(slots, slot, ())):
                yield f"{side}.{slot}", catalogue, part
        yield f"{side}.stack", STACKS[side], slots.stack
    for catalogue in MODEL_SLOTS:
        yield catalogue.slot, catalogue, getattr(plan, catalogue.slot)
    for catalogue in TRAINING_SLOTS:
        yield f"training.{catalogue.slot}", catalogue, getattr(plan.training, catalogue.slot)


def with_parts(plan: Plan, change: Callable[[str, Catalogue[Any], Part], Part]) -> Plan:
    """The plan with every part changed: (setting, catalogue, part) → part."""
    slots: dict[str, list[Part]] = {}
    for where, catalogue, part in every_part(plan):
        slots.setdefault(where, []).append(change(where, catalogue, part))
    return plan.with_settings({where: parts if parts[1:] else parts[0] for where, parts in slots.items()})


def settings_of_parts(plan: Plan) -> dict[str, list[str]]:
    """By the name of an option, the settings that reach it: {"heads": ["mixer.heads", "cross.heads"], …}."""
    found: dict[str, dict[str, None]] = {}
    for where, catalogue, part in every_part(plan):
        slot = where if catalogue in STACKS.values() else where.rpartition(".")[2]
        for option in catalogue.options(part.name) if part.name in catalogue else ():
            found.setdefault(option, {})[f"{slot}.{option}"] = None
    return {option: list(settings) for option, settings in found.items()}


def having(option: str) -> list[str]:
    """The parts that have an option, as a setting names them: ["mixer=attention", "cross=attention"]."""
    return [f"{each.slot}={name}" for each in c.ALL for name in each if option in each.options(name)]


def _settings(plan: Plan) -> Iterator[str]:
    """What is wrong with the numbers and words of a plan's sections."""
    sections: dict[str, Any] = {"": plan, **plan.sides(), "training": plan.training}
    for where, section in sections.items():
        for field in fields(section):
            name = f"{where}.{field.name}".lstrip(".")
            yield from field.metadata["option"].problems(getattr(section, field.name), name)


def _combinations(plan: Plan) -> Iterator[str]:
    for where, catalogue, part in every_part(plan):
        if catalogue in (c.MIXERS, c.CROSSES):
            yield from _heads_that_do_not_divide(plan.width, where, catalogue, part)
    sides = plan.sides()
    for side, slots in sides.items():
        if len(kinds := dict.fromkeys(part.name for part in parts_of(slots.wiring))) > 1:
            yield f"{side}.wiring: expected the same for all layers, got {', '.join(kinds)}; set one."
    if "decoder" in sides:
        yield from _decoder_directions(plan)
        yield from _decoder(plan)
    if "encoder" in sides:
        yield from _encoder_directions(plan)
    if "encoder" in sides and "decoder" in sides:
        yield from _attention(plan)
        yield from _extras(plan)
    elif "decoder" in sides:
        yield from _alone(plan)
    yield from _positions(plan)


def _decoder_directions(plan: Plan) -> Iterator[str]:
    for part in parts_of(plan.decoder.mixer):
        if (direction := part.options.get("direction")) in ("backward", "both"):
            yield (
                f"decoder.mixer.direction: {direction} would read tokens that are not generated yet; "
                "set decoder.mixer.direction=forward."
            )


def _encoder_directions(plan: Plan) -> Iterator[str]:
    for part in parts_of(plan.encoder.mixer):
        if _is_recurrent(part.name) and part.options.get("direction") in (None, "both") and plan.width < 2:
            yield (
                f"width: two directions need at least 2, half of it each, got {plan.width}; "
                "set width=2, or encoder.mixer.direction=forward."
            )


def _declared(catalogue: Catalogue[Any], name: str) -> Any:
    """What a part declares, as attributes of its class; those of its base if the name is unknown, or none."""
    return (catalogue.makes(name) if name in catalogue else None) or BASES[catalogue.slot]


def _is_recurrent(mixer: str) -> bool:
    return bool(_declared(c.MIXERS, mixer).is_recurrent)


def _decoder(plan: Plan) -> Iterator[str]:
    """The decoder has what its stack needs, and nothing that its stack does not support."""
    decoder, stack = plan.decoder, plan.decoder.stack.name
    declared = _declared(c.DECODERS, stack)
    foreign = [name for name in _names(decoder.mixer, decoder.layers) if name in c.MIXERS and not _is_recurrent(name)]
    if declared.is_recurrent and foreign:
        recurrent = " or ".join(filter(_is_recurrent, c.MIXERS))
        yield f"decoder.mixer: {stack} needs a recurrent mixer, {recurrent}, got {foreign[0]}."
    if declared.most_layers is not None and decoder.layers > declared.most_layers:
        like = [name for name in c.DECODERS if _is_deeper(c.DECODERS.makes(name), declared)]
        yield (
            f"decoder.layers: {stack} has at most {declared.most_layers}, got {decoder.layers}; "
            f"set decoder.layers={declared.most_layers}, or decoder.stack={' or '.join(like)}."
        )
    for slot in declared.without:
        if named := [part.name for part in parts_of(getattr(decoder, slot)) if part.name != NONE]:
            yield f"decoder.{slot}: {stack} does not support {named[0]}; set decoder.{slot}={NONE}."
    for slot in declared.without_at_bottom:
        bottom, *above = _names(getattr(decoder, slot), decoder.layers)
        if bottom != NONE:
            rest = f"'decoder.{slot}=[{', '.join([NONE, *above])}]'" if above else f"decoder.{slot}={NONE}"
            yield f"decoder.{slot}: the bottom layer of {stack} does not support {bottom}; set {rest}."


def _alone(plan: Plan) -> Iterator[str]:
    """A decoder without an encoder needs nothing of one."""
    decoder, stack = plan.decoder, plan.decoder.stack.name
    declared = _declared(c.DECODERS, stack)
    if declared.crosses or declared.needs or declared.source:
        alone = [name for name in c.DECODERS if not (made := c.DECODERS.makes(name)).source and not made.crosses]
        yield f"decoder.stack: {stack} needs an encoder; set decoder.stack={' or '.join(alone)}."
    elif crosses := [name for name in _names(decoder.cross, decoder.layers) if name != NONE]:
        yield f"decoder.cross: there is no encoder for {crosses[0]} to attend to; set decoder.cross={NONE}."


def _is_deeper(other: Any, declared: Any) -> bool:
    """Whether a decoder of the same kind may have any number of layers."""
    same = (other.crosses, other.is_recurrent) == (declared.crosses, declared.is_recurrent)
    return same and other.most_layers is None


def _attention(plan: Plan) -> Iterator[str]:
    """The decoder sees the source."""
    decoder, stack = plan.decoder, plan.decoder.stack.name
    declared = _declared(c.DECODERS, stack)
    crosses, known = _names(decoder.cross, decoder.layers), ", ".join(name for name in c.CROSSES if name != NONE)
    if declared.crosses and NONE in crosses:
        yield f"decoder.cross: {stack} attends to the source; expected one of {known}, got {NONE}."
    if declared.crosses == "once" and len(given := parts_of(decoder.cross)) > 1:
        yield f"decoder.cross: {stack} has one attention for all layers, got a list of {len(given)}; set one."
    if not declared.crosses and not declared.source and set(crosses) == {NONE}:
        others = {name: c.DECODERS.makes(name).source for name in c.DECODERS}
        given_source = " or ".join(f"decoder.stack={name} ({source})" for name, source in others.items() if source)
        yield (
            f"decoder.cross: without attention the decoder never sees the source; set decoder.cross to one of {known}, "
            f"or choose a decoder that receives the source otherwise: {given_source}."
        )


def _extras(plan: Plan) -> Iterator[str]:
    """What the encoder gives besides its output is used, and what the decoder needs is given."""
    encoder, decoder = plan.encoder, plan.decoder
    giver, taker = encoder.stack.name, decoder.stack.name
    gives, takes = _declared(c.ENCODERS, giver), _declared(c.DECODERS, taker)
    crosses = _names(decoder.cross, decoder.layers)
    used = {*_uses(c.DECODERS, taker), *(extra for name in crosses for extra in _uses(c.CROSSES, name))}
    plain = " or ".join(name for name in c.ENCODERS if not c.ENCODERS.makes(name).gives)
    for extra in gives.gives:
        if extra not in used:
            takers = [
                (each.slot, name) for each in (c.DECODERS, c.CROSSES) for name in each if extra in _uses(each, name)
            ]
            others = " or ".join(f"{slot}={name}" for slot, name in takers)
            yield f"encoder.stack: nothing uses the {extra} of {giver}; set encoder.stack={plain}, or {others}."
        elif extra == FINAL_STATES:
            yield from _final_states(plan)
    for extra in takes.needs:
        if extra not in gives.gives:
            givers = " or ".join(name for name in c.ENCODERS if extra in c.ENCODERS.makes(name).gives)
            yield f"encoder.stack: {taker} needs the {extra} of the encoder; set encoder.stack={givers}."
    if not gives.keeps_tokens and used.issuperset(gives.gives):
        mixers = [_declared(c.MIXERS, name) for name in _names(encoder.mixer, encoder.layers)]
        mixers += [_declared(c.CROSSES, name) for name in crosses]
        if any(mixer.attends for mixer in mixers):
            yield f"encoder.stack: attention needs tokens, but the {giver} source has none; set encoder.stack={plain}."


def _uses(catalogue: Catalogue[Any], name: str) -> tuple[str, ...]:
    declared = _declared(catalogue, name)
    return (*declared.needs, *declared.uses)


def _final_states(plan: Plan) -> Iterator[str]:
    """Each recurrent layer of the decoder starts from the final state of a layer of the encoder."""
    encoder, decoder, taker = plan.encoder, plan.decoder, plan.decoder.stack.name
    if encoder.layers != decoder.layers:
        yield (
            f"encoder.layers: {taker} needs one final state for each of its {decoder.layers} layers, "
            f"got {encoder.layers}; set encoder.layers={decoder.layers}."
        )
    for i in range(min(encoder.layers, decoder.layers)):
        theirs, own = part_of_layer(encoder.mixer, i), part_of_layer(decoder.mixer, i)
        if _is_recurrent(own.name) and theirs.name in c.MIXERS and theirs.name != own.name:
            yield f"encoder.mixer: {taker} needs final states of its own mixer, {own.name}, got {theirs.name}."
        elif _is_recurrent(theirs.name) and theirs.options.get("direction") not in ("forward", "backward"):
            yield (
                f"encoder.mixer: {taker} needs final states of one direction, got both; "
                "set encoder.mixer.direction=backward."
            )


def _names(slot: Slot, layers: int) -> list[str]:
    return [part_of_layer(slot, i).name for i in range(max(1, layers))]


def _heads_that_do_not_divide(width: int, where: str, catalogue: Catalogue[Any], part: Part) -> Iterator[str]:
    heads, *widths = (catalogue.value(part, option) for option in ("heads", "key_width", "value_width"))
    if isinstance(heads, int) and heads > 0 and width % heads and None in widths:
        yield (
            f"{where}.heads: {heads} heads do not divide a width of {width}; "
            "choose a divisor, or set key_width and value_width."
        )
    shared = catalogue.value(part, "kv_heads")
    if isinstance(heads, int) and isinstance(shared, int) and heads > 0 and shared > 0 and heads % shared:
        yield f"{where}.kv_heads: {shared} do not divide {heads} heads; choose a divisor."


def _positions(plan: Plan) -> Iterator[str]:
    position = plan.position
    if position.name in c.POSITIONS and "features" in c.POSITIONS.options(position.name):
        features = c.POSITIONS.value(position, "features")
        if features is None and plan.width > 0:
            with torch.device("meta"):
                features = c.POSITIONS.makers[position.name](plan.width).features
        if isinstance(features, int) and not 0 < features < plan.width:
            yield f"position.features: expected 1 to {plan.width - 1}, got {features}."
        if _declared(c.HEADS, plan.head.name).is_tied:
            yield (
                f"head: {plan.head.name} needs embeddings as wide as the model, but {position.name} positions take a "
                "part of the width; set head=linear, or position=sinusoid."
            )
    limit, block = c.POSITIONS.value(position, "limit"), c.BATCHINGS.value(plan.training.batching, "length")
    setting, longest = ("longest", plan.training.longest) if block is None else ("batching.length", block)
    if isinstance(limit, int) and isinstance(longest, int) and 0 < limit < longest:
        yield (
            f"training.{setting}: {longest} tokens are more than the {limit} positions; "
            f"set {setting}={limit}, or position.limit={longest}."
        )

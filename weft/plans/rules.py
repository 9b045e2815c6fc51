"""What cannot work is refused here, in words, all of it at once."""

import math
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from weft.errors import WeftError
from weft.plans import catalogues as c
from weft.plans.catalogue import Catalogue
from weft.plans.part import Part
from weft.plans.plan import Encoder, Plan, Slot

SIDE_SLOTS: dict[str, Catalogue[Any]] = {
    "mixer": c.MIXERS,
    "cross": c.CROSSES,
    "feed_forward": c.FEED_FORWARDS,
    "norm": c.NORMS,
    "join": c.JOINS,
    "wiring": c.WIRINGS,
}
STACKS: dict[str, Catalogue[Any]] = {"encoder": c.ENCODERS, "decoder": c.DECODERS}
END_SLOTS: dict[str, Catalogue[Any]] = {"embedding": c.EMBEDDINGS, "position": c.POSITIONS, "head": c.HEADS}

# Bounds by the name of a setting, or of a part's option: what is called the same is bounded the same.
AT_LEAST = {
    "width": 1,
    "layers": 1,
    "steps": 1,
    "batch_tokens": 1,
    "accumulate": 1,
    "weight_decay": 0,
    "clip": 0,
    "longest": 1,
    "validate_every": 1,
    "patience": 0,
    "average_of": 1,
    "seed": 0,
    "heads": 1,
    "key_width": 1,
    "value_width": 1,
    "hidden": 1,
    "limit": 1,
    "kernel": 1,
    "dilation": 1,
    "factor": 1,
    "warmup": 0,
}
# A plan may come from a stranger: beyond these, a line of text would fill the memory or take for ever.
AT_MOST = {
    "width": 2**16,
    "layers": 1000,
    "vocabulary": 2**24,
    "heads": 2**12,
    "key_width": 2**16,
    "value_width": 2**16,
    "hidden": 2**20,
    "limit": 2**24,
    "kernel": 2**8,  # this and the next: a window is filled up with zeros as far as it reaches
    "dilation": 2**10,
    "factor": 10,
    "longest": 2**16,
    "seed": 2**62,
}
RATES = ("dropout", "bpe_dropout", "smoothing", "beta1", "beta2", "floor")
BOUNDED_ELSEWHERE = ("vocabulary", "features")  # by rules of their own; every other number is positive
WORDS = {
    "average": ("last", "best"),
    "sharing": ("joint", "separate"),
    "direction": ("forward", "backward", "both"),
}

# Decoders that are more than a list of layers: what they are made of, and what they have no place for.
RECURRENT = ("from-encoder-state", "bahdanau", "gnmt", "input-feeding")  # their mixers are cells
LOOKING = ("bahdanau", "gnmt", "input-feeding", "convs2s")  # they have a place for `cross`
GIVEN = {
    "from-encoder-state": "one vector",
    "bytenet": "its columns",
}  # how those get the source that need not look at it
GOING_ON = ("from-encoder-state", "input-feeding")  # they begin where the encoder's layers ended


def check(plan: Plan) -> None:
    """Raise one error that lists everything wrong with a plan."""
    if wrong := problems(plan):
        raise WeftError(f"plan {plan.name!r} cannot be built:\n" + "\n".join(f"  {line}" for line in wrong))


def problems(plan: Plan) -> list[str]:
    return _merged(chain(_wrong_choices(plan), _combinations(plan)))


def wrong_choices(plan: Plan) -> list[str]:
    """What is wrong with each choice by itself, whatever the others are."""
    return _merged(_wrong_choices(plan))


def _wrong_choices(plan: Plan) -> Iterator[str]:
    for where, catalogue, part in every_part(plan):
        yield from catalogue.problems(part, where)
    for where, value in _values(plan):
        yield from out_of_bounds(where, value)
    if plan.vocabulary < 260:
        yield f"vocabulary: at least 260 (256 bytes and 4 signs), not {plan.vocabulary}."


def _merged(lines: Iterable[str]) -> list[str]:
    """What is wrong in the same way in several places, as one choice for both sides is, is said once."""
    places: dict[str, dict[str, None]] = {}  # dictionaries keep the order and drop what comes again
    for line in lines:
        where, _, sentence = line.partition(": ")
        places.setdefault(sentence, {})[where] = None
    return [f"{', '.join(found)}: {sentence}" for sentence, found in places.items()]


def parts_of(slot: Slot) -> tuple[Part, ...]:
    return slot if isinstance(slot, tuple) else (slot,)


def part_of_layer(slot: Slot, i: int) -> Part:
    """The part of layer i: a list of parts is dealt out to the layers in turn."""
    parts = parts_of(slot)
    return parts[i % len(parts)]


def _sides(plan: Plan) -> list[tuple[str, Encoder]]:
    return [("encoder", plan.encoder), ("decoder", plan.decoder)]


def every_part(plan: Plan) -> Iterator[tuple[str, Catalogue[Any], Part]]:
    """Every part of a plan, with where it stands and the catalogue its name is from."""
    for side, slots in _sides(plan):
        for slot, catalogue in SIDE_SLOTS.items():
            for part in parts_of(getattr(slots, slot, ())):
                yield f"{side}.{slot}", catalogue, part
        yield f"{side}.stack", STACKS[side], slots.stack
    for slot, catalogue in END_SLOTS.items():
        yield slot, catalogue, getattr(plan, slot)
    yield "init", c.INITS, plan.init
    yield "training.schedule", c.SCHEDULES, plan.training.schedule
    yield "training.batching", c.BATCHINGS, plan.training.batching


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


def _values(plan: Plan) -> Iterator[tuple[str, Any]]:
    """Every number and word of a plan, with where it stands."""
    yield from ((name, value) for name, value in vars(plan).items() if isinstance(value, int | float | str))
    for name in ("encoder", "decoder", "training"):
        yield from ((f"{name}.{key}", value) for key, value in vars(getattr(plan, name)).items())
    for where, _, part in every_part(plan):
        yield from ((f"{where}.{key}", value) for key, value in part.leaves())


def out_of_bounds(where: str, value: Any) -> Iterator[str]:
    """What is wrong with the value of a setting, by the last word of its path."""
    name = where.rpartition(".")[2]
    if name in WORDS and value not in WORDS[name]:
        yield f"{where}: {' or '.join(WORDS[name])} is wanted, not {value!r}."
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if name in AT_LEAST and not value >= AT_LEAST[name]:
        yield f"{where}: at least {AT_LEAST[name]} is wanted, not {value}."
    if name in AT_MOST and value > AT_MOST[name]:
        yield f"{where}: at most {AT_MOST[name]} is allowed, not {value}."
    if value == math.inf and name not in RATES:
        yield f"{where}: a finite number is wanted, not {value}."
    if name in RATES and not 0 <= value < 1:
        yield f"{where}: a rate lies in 0 ≤ p < 1, not {value}."
    if name not in (*AT_LEAST, *RATES, *BOUNDED_ELSEWHERE) and not value > 0:
        yield f"{where}: more than 0 is wanted, not {value}."


def _combinations(plan: Plan) -> Iterator[str]:
    for where, catalogue, part in every_part(plan):
        if catalogue in (c.MIXERS, c.CROSSES):
            yield from _heads_that_do_not_divide(plan.width, where, catalogue, part)
    for side, slots in _sides(plan):
        if len({part.name for part in parts_of(slots.wiring)}) > 1:
            yield f"{side}.wiring: one stack has one wiring, not {len(parts_of(slots.wiring))}."
    yield from _readings(plan)
    yield from _decoders(plan)
    yield from _handed_on(plan)
    yield from _positions(plan)


def _readings(plan: Plan) -> Iterator[str]:
    for part in parts_of(plan.decoder.mixer):
        if part.options.get("direction") in ("backward", "both"):
            yield (
                f"decoder.mixer.direction: a decoder reads forward only, not {part.options['direction']}: "
                "what comes after a token is not written yet."
            )
    for part in parts_of(plan.encoder.mixer):
        if part.name in c.CELLS and part.options.get("direction") in (None, "both") and plan.width < 2:
            yield "width: at least 2 for two directions, half of it each."


def _decoders(plan: Plan) -> Iterator[str]:
    """What a decoder of its own kind is made of."""
    stack, decoder = plan.decoder.stack.name, plan.decoder
    mixers, crosses = _names(decoder.mixer, decoder.layers), _names(decoder.cross, decoder.layers)
    if stack in RECURRENT and (foreign := [name for name in mixers if name in c.MIXERS and name not in c.CELLS]):
        yield f"decoder.mixer: {stack} goes from state to state, with {' or '.join(c.CELLS)}, not {foreign[0]}."
    if stack in LOOKING:
        if "none" in crosses:
            yield f"decoder.cross: {stack} looks at the source; choose {', '.join(_others(c.CROSSES))}."
        if any(part.name != "none" for part in parts_of(decoder.feed_forward)):
            yield f"decoder.feed_forward: {stack} has no place for one; set decoder.feed_forward=none."
        if stack in RECURRENT and len(parts_of(decoder.cross)) > 1:
            yield f"decoder.cross: {stack} looks once in a step, with one part, not {len(parts_of(decoder.cross))}."
    elif stack not in GIVEN and set(crosses) == {"none"}:
        given = " or ".join(f"decoder.stack={name} ({how})" for name, how in GIVEN.items())
        yield (
            f"decoder.cross: with none of them the decoder never sees the source; "
            f"choose {', '.join(_others(c.CROSSES))}, or give it the source with {given}."
        )
    if stack == "bahdanau" and decoder.layers != 1:
        yield f"decoder.layers: bahdanau has one layer, not {decoder.layers}; gnmt has several."
    if stack in LOOKING and stack in RECURRENT:
        for slot, nothing in (("norm", "none"), ("join", "none")):
            bottom, *above = _names(getattr(decoder, slot), decoder.layers)
            if bottom != nothing:
                if stack == "bahdanau" or not above:
                    yield f"decoder.{slot}: {stack} has no place for one; set decoder.{slot}={nothing}."
                else:
                    yield (
                        f"decoder.{slot}: the bottom layer of {stack} has no place for one; "
                        f"set 'decoder.{slot}=[{', '.join([nothing, *above])}]'."
                    )


def _handed_on(plan: Plan) -> Iterator[str]:
    """What the encoder hands on beside its output is what the decoder takes up."""
    encoder, decoder = plan.encoder, plan.decoder
    handing, taking = encoder.stack.name, decoder.stack.name
    if handing == "with-embeddings" and not set(_names(decoder.cross, decoder.layers)) & {"additive", "general", "dot"}:
        yield (
            "encoder.stack: with-embeddings hands on the source embeddings, and only additive, general and dot take "
            "them up; set encoder.stack=plain."
        )
    if handing == "stretched":
        used = [*_names(encoder.mixer, encoder.layers), *_names(decoder.cross, decoder.layers)]
        looking = next((name for name in used if name in _others(c.CROSSES)), None)
        if taking != "bytenet":
            yield (
                "encoder.stack: stretched hands on a column for each token of a translation, and only bytenet stands "
                "on them; set encoder.stack=plain."
            )
        elif looking:
            yield (
                f"encoder.stack: the columns of stretched are no tokens for {looking} to look at; "
                "set encoder.stack=plain."
            )
    if handing == "final-states" and taking not in GOING_ON:
        yield (
            "encoder.stack: final-states hands on the states that its layers ended in, and only "
            f"{' and '.join(GOING_ON)} go on from there; set encoder.stack=plain."
        )
    elif handing != "final-states" and taking in GOING_ON:
        yield f"encoder.stack: {taking} goes on from where the encoder's layers ended; set encoder.stack=final-states."
    elif handing == "final-states":
        if encoder.layers != decoder.layers:
            yield f"encoder.layers: {taking} goes on from as many as it has, {decoder.layers}, not {encoder.layers}."
        for i in range(min(encoder.layers, decoder.layers)):
            ended, own = part_of_layer(encoder.mixer, i), part_of_layer(decoder.mixer, i)
            if own.name in c.CELLS and ended.name in c.MIXERS and ended.name != own.name:
                yield f"encoder.mixer: {taking} goes on from its own kind, {own.name}, not {ended.name}."
            elif ended.name in c.CELLS and ended.options.get("direction") not in ("forward", "backward"):
                yield (
                    "encoder.mixer: final-states hands on the state of whoever reads in one direction; "
                    "set encoder.mixer.direction=backward."
                )


def _names(slot: Slot, layers: int) -> list[str]:
    return [part_of_layer(slot, i).name for i in range(max(1, layers))]


def _others(catalogue: Catalogue[Any]) -> list[str]:
    return [name for name in catalogue if name != "none"]


def _heads_that_do_not_divide(width: int, where: str, catalogue: Catalogue[Any], part: Part) -> Iterator[str]:
    heads, *widths = (catalogue.value(part, option) for option in ("heads", "key_width", "value_width"))
    if isinstance(heads, int) and heads > 0 and width % heads and None in widths:
        yield (
            f"{where}.heads: {heads} heads do not divide a width of {width}; "
            "choose others, or set key_width and value_width."
        )


def _positions(plan: Plan) -> Iterator[str]:
    position, longest = plan.position, plan.training.longest
    if position.name == "concatenated":
        features = c.POSITIONS.value(position, "features")
        features = plan.width // 4 if features is None else features
        if isinstance(features, int) and not 0 < features < plan.width:
            yield f"position.features: between 1 and {plan.width - 1}, not {features}."
        if plan.head.name == "tied":
            yield (
                "head: tied needs embeddings as wide as the model, and concatenated positions take a part of the "
                "width; set head=linear, or position=sinusoid."
            )
    limit = c.POSITIONS.value(position, "limit")
    if isinstance(limit, int) and 0 < limit < longest:
        yield (
            f"training.longest: {longest} tokens, but the positions end at {limit}; "
            f"set longest={limit}, or position.limit={longest}."
        )

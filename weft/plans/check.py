"""What cannot work is refused here, in words, all of it at once."""

from collections.abc import Iterator

from weft.errors import WeftError
from weft.plans import catalogues as c
from weft.plans.part import Part
from weft.plans.plan import Encoder, Plan, Slot

SIDE_SLOTS = {
    "mixer": c.MIXERS,
    "cross": c.MIXERS,
    "feed_forward": c.FEED_FORWARDS,
    "norm": c.NORMS,
    "join": c.JOINS,
    "wiring": c.WIRINGS,
    "stack": c.STACKS,
}
END_SLOTS = {"embedding": c.EMBEDDINGS, "position": c.POSITIONS, "head": c.HEADS}


def check(plan: Plan) -> None:
    """Raise one error that lists everything wrong with a plan."""
    if wrong := list(problems(plan)):
        raise WeftError(f"plan {plan.name!r} cannot be built:\n" + "\n".join(f"  {line}" for line in wrong))


def problems(plan: Plan) -> Iterator[str]:
    yield from _names(plan)
    yield from _numbers(plan)
    yield from _combinations(plan)


def parts_of(slot: Slot) -> tuple[Part, ...]:
    return slot if isinstance(slot, tuple) else (slot,)


def _sides(plan: Plan) -> list[tuple[str, Encoder]]:
    return [("encoder", plan.encoder), ("decoder", plan.decoder)]


def _names(plan: Plan) -> Iterator[str]:
    for side, parts in _sides(plan):
        for slot, catalogue in SIDE_SLOTS.items():
            for part in parts_of(getattr(parts, slot, ())):
                yield from catalogue.problems(part, f"{side}.{slot}")
    for slot, catalogue in END_SLOTS.items():
        yield from catalogue.problems(getattr(plan.ends, slot), f"ends.{slot}")
    yield from c.INITS.problems(plan.init, "init")
    yield from c.SCHEDULES.problems(plan.training.schedule, "training.schedule")


def _numbers(plan: Plan) -> Iterator[str]:
    least_one = {
        "width": plan.width,
        "encoder.layers": plan.encoder.layers,
        "decoder.layers": plan.decoder.layers,
        "training.steps": plan.training.steps,
        "training.batch_tokens": plan.training.batch_tokens,
        "training.accumulate": plan.training.accumulate,
        "training.validate_every": plan.training.validate_every,
        "training.average_of": plan.training.average_of,
        "training.longest": plan.training.longest,
    }
    yield from (f"{key}: at least 1 is wanted, not {value}." for key, value in least_one.items() if value < 1)
    if plan.ends.vocabulary < 260:
        yield f"ends.vocabulary: at least 260 (256 bytes and 4 signs), not {plan.ends.vocabulary}."
    smoothing = plan.ends.head.options.get("smoothing", 0.0)
    rates = {
        "encoder.dropout": plan.encoder.dropout,
        "decoder.dropout": plan.decoder.dropout,
        "training.bpe_dropout": plan.training.bpe_dropout,
        "ends.head.smoothing": smoothing,
    }
    for side, parts in _sides(plan):
        for slot in ("mixer", "cross", "feed_forward"):
            for part in parts_of(getattr(parts, slot, ())):
                rates[f"{side}.{slot}.dropout"] = part.options.get("dropout", 0.0)
    for key, rate in rates.items():
        if isinstance(rate, int | float) and not 0 <= rate < 1:
            yield f"{key}: a rate lies in 0 ≤ p < 1, not {rate}."
    for key, value, allowed in (
        ("training.average", plan.training.average, ("last", "best")),
        ("training.best_by", plan.training.best_by, ("bleu", "loss")),
        ("ends.sharing", plan.ends.sharing, ("joint", "separate")),
    ):
        if value not in allowed:
            yield f"{key}: {' or '.join(allowed)} is wanted, not {value!r}."


def _combinations(plan: Plan) -> Iterator[str]:
    for side, parts in _sides(plan):
        for slot in ("mixer", "cross"):
            for part in parts_of(getattr(parts, slot, ())):
                heads = part.options.get("heads", 8)
                free = {"key_width", "value_width"} <= part.options.keys()
                if part.name == "attention" and isinstance(heads, int) and not free and (heads < 1 or plan.width % heads):
                    yield (
                        f"{side}.{slot}.heads: {heads} heads do not divide a width of {plan.width}; "
                        "choose others, or set key_width and value_width."
                    )
        if len({part.name for part in parts_of(parts.wiring)}) > 1:
            yield f"{side}.wiring: one stack has one wiring, not {len(parts_of(parts.wiring))}."
    if plan.ends.position.name == "concatenated":
        features = plan.ends.position.options.get("features", plan.width // 4)
        if isinstance(features, int) and not 0 < features < plan.width:
            yield f"ends.position.features: between 1 and {plan.width - 1}, not {features}."
        if plan.ends.head.name == "tied":
            yield (
                "ends.head: tied needs embeddings as wide as the model, and concatenated positions take a part of the "
                "width; set head=linear, or position=sinusoid."
            )

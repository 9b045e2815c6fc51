"""Routes of the page about what a model writes: each token with its rivals, the next token, and what each layer would
write."""

import math
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from weft.errors import WeftError
from weft.serving.inside import DIGITS, Looking, LookRequest
from weft.serving.service import Service, Served
from weft.viewing import lens as through
from weft.viewing.attention_maps import AttentionMaps
from weft.viewing.lens import LensCell, Step

GUESSING = -1.0  # mean log-probability of a token; see `guessing`
LIKELY = 0.5  # probability of a token
NEXT = 200  # logits

router = APIRouter(prefix="/api", tags=["inside"])


class RunRequest(LookRequest):
    top: Annotated[int, Field(ge=1, le=50, description="How many of the likeliest tokens of each step.")] = 5


class RunAnswer(BaseModel):
    """What was read and written, and how the model rates it."""

    text: str = Field(description="As the model read it, with what replaces its tokens.")
    source: list[str] = Field(description="Empty where the model reads nothing but what it continues.")
    target: list[str] = Field(description="The tokens that were written, or are given.")
    translation: str
    log_probs: list[float]
    score: float | None = Field(description="Mean log-probability per token; null without any.")
    guessing: str | None = Field(description="A sentence, if a translation is hardly better than guessed.")
    steps: list[Step] = Field(description="Of each token of the target. Ranks count from 1.")
    text_tokens: list[str] | None = Field(description="Of a language model: the tokens of the text.")
    text_steps: list[Step | None] | None = Field(description="Of these; null for a token that nothing precedes.")


@router.post("/run")
async def run(asked: RunRequest, look: Looking, service: Served) -> RunAnswer:
    """Translate or continue a text: each token with its probability, its rank and the likeliest ones instead of it."""
    seen = await look(asked.text, asked.target, asked.what_if)
    model, codec = service.predictor.models[0], service.predictor.codec
    steps = [_rounded(step) for step in await service.queue.run(lambda: through.steps(model, codec, seen, asked.top))]
    given = len(steps) - len(seen.ids)  # of the text
    written = steps[given:]
    log_probs = [step.log_prob for step in written]
    answer: dict[str, Any] = {"text_tokens": None, "text_steps": None}
    if not seen.source:
        first, ids = service.predictor.codec.special.start, seen.read["tokens"]
        alone = [] if ids[0] == first else [seen.start]  # the first token of the text, which nothing precedes
        answer["text_tokens"] = [*alone, *seen.target[:given]]
        answer["text_steps"] = [*(None for _ in alone), *steps[:given]]
    return RunAnswer(
        text=codec.decode(seen.read["source"]) if seen.source else "".join(codec.characters(_text_ids(seen, given))),
        source=seen.source,
        target=seen.target[given:],
        translation=seen.translation,
        log_probs=log_probs,
        score=round(sum(log_probs) / len(log_probs), DIGITS) if log_probs else None,
        guessing=guessing(log_probs) if asked.is_own and "pairs" in service.predictor.routes else None,
        steps=written,
        **answer,
    )


def _text_ids(seen: AttentionMaps, given: int) -> list[int]:
    return [seen.read["tokens"][0], *seen.targets[:given]]


def guessing(log_probs: list[float]) -> str | None:
    """A sentence, if a model is hardly better than guessing: below a mean log-probability of `GUESSING`."""
    if not log_probs or sum(log_probs) / len(log_probs) >= GUESSING:
        return None
    likely = sum(value >= math.log(LIKELY) for value in log_probs) / len(log_probs)
    return f"The model is guessing: {likely:.0%} of what it wrote was likely.".replace("%", " %")


def _rounded(step: Step) -> Step:
    top = [through.Choice(one.token, one.id, round(one.log_prob, DIGITS)) for one in step.top]
    return Step(step.token, round(step.log_prob, DIGITS), step.rank, top)


class NextRequest(LookRequest):
    step: int = Field(0, ge=0, description="0: the first token after the text, or of the translation.")


class NextToken(BaseModel):
    token: str
    id: int
    text: str = Field(description="What it adds to a text.")
    logit: float


class NextAnswer(BaseModel):
    """The largest logits of one token, without a temperature, and what the probabilities are made of."""

    tokens: list[NextToken] = Field(description=f"At most {NEXT}, the likeliest first.")
    log_sum: float = Field(description="log Σ exp of all logits: the log-probability of a token is logit - log_sum.")
    vocabulary: int
    written: list[str] = Field(description="The tokens of the target before this step.")


@router.post("/next")
async def next_token(asked: NextRequest, look: Looking, service: Served) -> NextAnswer:
    """Return the largest logits of the next token of a text, or of a step of a translation."""
    predictor = service.predictor
    before = await _before(asked, look, service)
    seen = await look(asked.text, (*before, predictor.codec.special.end), asked.what_if.unforced)
    found = await service.queue.run(lambda: through.next_token(predictor.models[0], seen.hidden[-1], NEXT))
    ids = [i for i, _ in found.tokens]
    return NextAnswer(
        tokens=[
            NextToken(token=token, id=i, text="".join(predictor.codec.characters([i])), logit=round(logit, DIGITS))
            for token, (i, logit) in zip(predictor.codec.readable(ids), found.tokens)
        ],
        log_sum=round(found.log_sum, DIGITS),
        vocabulary=len(predictor.codec),
        written=predictor.codec.in_text(before),
    )


async def _before(asked: NextRequest, look: Looking, service: Service) -> tuple[int, ...]:
    """The ids of the target before the step."""
    if not asked.step:
        return ()
    ids = (await look(asked.text, asked.target, asked.what_if)).ids
    most = len(ids) - (service.predictor.codec.special.end in ids)
    if asked.step > most:
        raise WeftError(f"step {asked.step} does not exist: steps count from 0 to {most}.")
    return ids[: asked.step]


class LensAnswer(BaseModel):
    """What each layer would write if it were the last."""

    tokens: list[str] = Field(description="What is read at each position.")
    written: list[str | None] = Field(description="What follows it; null: nothing does yet.")
    layers: list[str] = Field(description="embedding, 1, 2 …")
    cells: list[list[LensCell]] = Field(description="[layer][position]")


@router.post("/lens")
async def lens(asked: LookRequest, look: Looking, service: Served) -> LensAnswer:
    """Return what each layer would write at each position: its stream, seen through the final norm and the head. A
    language model continues the text only by the target that is given."""
    predictor = service.predictor
    if "source" in predictor.models[0].limits:
        seen = await look(asked.text, asked.target, asked.what_if)
        written: list[str | None] = [*seen.target]
    else:
        given = "" if asked.target is None and not asked.force else asked.target
        ids = () if given == "" and not asked.force else (await look(asked.text, given, asked.what_if)).ids
        seen = await look(asked.text, (*ids, predictor.codec.special.end), asked.what_if.unforced)
        written = [*seen.target[:-1], None]
    cells = await service.queue.run(lambda: through.lens(predictor.models[0], predictor.codec, seen))
    return LensAnswer(
        tokens=[seen.start, *seen.target[:-1]],
        written=written,
        layers=["embedding", *map(str, range(1, len(cells)))],
        cells=[
            [
                LensCell(
                    one.token, round(one.probability, DIGITS), one.rank_of_final, round(one.probability_of_final, DIGITS)
                )
                for one in row
            ]
            for row in cells
        ],
    )

"""Routes of the page about what a model writes: each token with its rivals, the next token, and what each layer would
write."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from weft.errors import WeftError
from weft.serving.inside import DIGITS, Looking, LookRequest
from weft.serving.service import Served, Service
from weft.tasks.generator import Generator
from weft.viewing import lens as through
from weft.viewing.lens import LensCell, RatedToken

# Mean log-probability of a token. The shipped model is below it in 0.7 % of 300 sentences of its test set (mean -0.36),
# in all of 60 lines in other scripts (-1.59), and in 98 % of 60 lines of random letters (-1.37).
GUESSING = -1.0
LIKELY = 0.5  # probability of a token: more likely than not
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
    steps: list[RatedToken] = Field(description="Of each token of the target. Ranks count from 1.")
    text_tokens: list[str] | None = Field(description="Of a language model: the tokens of the text.")
    text_steps: list[RatedToken | None] | None = Field(description="Of these; null for a token that nothing precedes.")


@router.post("/run")
async def run(asked: RunRequest, look: Looking, service: Served) -> RunAnswer:
    """Translate or continue a text: each token with its probability, its rank and the likeliest ones instead of it. A
    text that is only rated, with an empty target, may be longer than a language model sees at once."""
    model, codec = service.writing.models[0], service.writing.codec
    if "source" not in model.limits and asked.target == "" and not asked.force:
        return await _rated(asked, service)
    seen = await look(asked.text, asked.target, asked.what_if)
    found = await service.queue.run(
        lambda: through.steps(model, codec, seen.hidden, seen.targets, asked.what_if, asked.top)
    )
    if not seen.source:
        ids = [*seen.read["tokens"][:1], *seen.targets]
        return _continued(ids, len(seen.ids), found, service.generator)
    written = [*map(_rounded, found)]
    log_probs = [step.log_prob for step in written]
    return RunAnswer(
        text=codec.decode(seen.read["source"]),
        source=seen.source,
        target=seen.target,
        translation=seen.translation,
        log_probs=log_probs,
        score=round(seen.score, DIGITS),
        guessing=guessing(log_probs) if asked.is_own else None,
        steps=written,
        text_tokens=None,
        text_steps=None,
    )


async def _rated(asked: RunRequest, service: Service) -> RunAnswer:
    """A text and how a language model rates it. Between two windows other requests get their turn."""
    generator = service.generator
    service.check_size([asked.text, asked.what_if.words])
    ids = generator.changed(asked.text, asked.what_if)
    windows = generator.rated(ids, asked.what_if, asked.top)
    found: list[RatedToken] = []
    while some := await service.queue.run(lambda: next(windows, None)):
        found += some
    return _continued(ids, 0, found, generator)


def _continued(ids: Sequence[int], count: int, found: Sequence[RatedToken], generator: Generator) -> RunAnswer:
    """A text of a language model of which the last so many tokens are written; the steps are of all but the first."""
    codec, begun = generator.codec, len(ids) - count
    first = int(ids[0] == codec.special.start)  # the first token of the text
    tokens, characters = codec.in_text(ids), codec.characters(ids)
    rated = [None, *(replace(_rounded(step), token=token) for step, token in zip(found, tokens[1:]))]
    written = [step for step in rated[begun:] if step]
    log_probs = [step.log_prob for step in written]
    return RunAnswer(
        text="".join(characters[:begun]),
        source=[],
        target=tokens[begun:],
        translation="".join(characters[begun:]),
        log_probs=log_probs,
        score=round(sum(log_probs) / count, DIGITS) if count else None,
        guessing=None,
        steps=written,
        text_tokens=tokens[first:begun],
        text_steps=rated[first:begun],
    )


def guessing(log_probs: list[float]) -> str | None:
    """A sentence, if a model is hardly better than guessing: below a mean log-probability of `GUESSING`."""
    if not log_probs or sum(log_probs) / len(log_probs) >= GUESSING:
        return None
    likely = sum(value >= math.log(LIKELY) for value in log_probs) / len(log_probs)
    share = f"only {likely:.0%}".replace("%", " %") if likely else "none"
    return f"The model is guessing: {share} of the tokens it wrote were more likely than not."


def _rounded(step: RatedToken) -> RatedToken:
    top = [through.Choice(one.token, one.id, round(one.log_prob, DIGITS)) for one in step.top]
    return RatedToken(step.token, round(step.log_prob, DIGITS), step.rank, top)


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
    predictor = service.writing
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
    most = len(ids) - (service.writing.codec.special.end in ids)
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
    predictor = service.writing
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
        cells=[[_short(cell) for cell in row] for row in cells],
    )


def _short(cell: LensCell) -> LensCell:
    chances = round(cell.probability, DIGITS), round(cell.probability_of_final, DIGITS)
    return replace(cell, probability=chances[0], probability_of_final=chances[1])

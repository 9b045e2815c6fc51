"""OpenAI's routes for a language model, so that programs written for them work unchanged: /v1/completions,
/v1/chat/completions, /v1/models."""

import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from weft.errors import WeftError
from weft.serving import keys
from weft.serving.answers import INTERNAL, OPENAI_ERRORS, Refused, openai_error
from weft.serving.chat import rendered
from weft.serving.openai_types import (
    SEEDS,
    ChatChoice,
    ChatChunk,
    ChatChunkChoice,
    ChatCompletion,
    ChatMessage,
    ChatRequest,
    Choice,
    Completion,
    CompletionRequest,
    ModelCard,
    ModelList,
    SamplingRequest,
    Usage,
)
from weft.serving.service import Served, Service
from weft.serving.streams import Piece
from weft.serving.written import Text, Token, chat_log_probs, log_probs, rated
from weft.tasks.generator import MOST_TOKENS
from weft.tasks.writer import Writer

MOST_COMPLETED = 16  # tokens of /v1/completions, as at OpenAI
STREAM_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}  # proxies pass the events on as they come
EVENTS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}}

router = APIRouter(prefix="/v1", tags=["openai"], dependencies=[keys.openai_required], responses=OPENAI_ERRORS)


@dataclass
class Asked:
    """A request that has been checked: what is read, and the texts that are to be written."""

    service: Service
    prompts: list[list[int]]
    writers: list[Writer]  # those of the first prompt, then those of the second …
    prefix: str  # of the answer's id
    starts: list[int] | None = None  # where each text begins in the answer: after its prompt, if that is returned
    created: int = field(default_factory=lambda: int(time.time()))

    def __post_init__(self) -> None:
        codec, each = self.service.generator.codec, max(1, len(self.writers) // len(self.prompts))
        self.texts = [Text(codec, start) for start in self.starts or [0] * len(self.prompts) for _ in range(each)]
        self.head: dict[str, Any] = {
            "id": f"{self.prefix}-{secrets.token_hex(12)}",
            "created": self.created,
            "model": self.service.name,
        }

    async def pieces(self) -> AsyncIterator[tuple[Piece, list[Token]]]:
        """The pieces of all texts as they are written, with their tokens."""
        if self.writers:
            with self.service.queue.write(self.writers) as stream:
                async for piece in stream.pieces():
                    yield piece, self.texts[piece.index].grow(piece)

    async def written(self) -> list[Text]:
        """All texts, when they have ended."""
        async for _ in self.pieces():
            pass
        return self.texts

    @property
    def usage(self) -> Usage:
        read, written = sum(map(len, self.prompts)), sum(text.count for text in self.texts)
        return Usage(prompt_tokens=read, completion_tokens=written, total_tokens=read + written)


@router.get("/models")
async def models(service: Served) -> ModelList:
    """List the served model."""
    return ModelList(data=[_card(service)])


@router.get("/models/{name:path}")
async def one_model(name: str, service: Served) -> ModelCard:
    """Describe the served model."""
    _check_model(name, service)
    return _card(service)


@router.post("/completions", responses=EVENTS, response_model=Completion)
async def completions(asked: CompletionRequest, service: Served) -> Any:
    """Continue texts."""
    codec, top, prompts = service.generator.codec, asked.logprobs, asked.prompts()
    n, rows = asked.n or 1, asked.best_of or asked.n or 1
    most = MOST_COMPLETED if asked.max_tokens is None else asked.max_tokens
    if asked.suffix:
        raise Refused("suffix is not supported: this model continues texts, and does not fill gaps.", "suffix")
    if rows < n:
        raise Refused(f"best_of must be at least n = {n}, got {rows}.", "best_of")
    if rows > n and asked.stream:
        raise Refused("best_of cannot be more than n in a stream: which is best is known at the end.", "best_of")
    if not most and not asked.echo:
        raise Refused("max_tokens must be at least 1 without echo, got 0.", "max_tokens")
    _check(asked, service, [prompt for prompt in prompts if isinstance(prompt, str)], len(prompts) * rows, most)
    ids = [_ids(prompt, service, "prompt") for prompt in prompts]
    writers = _writers(asked, service, ids, rows, most, top or 0)
    shown = [
        (prompt if isinstance(prompt, str) else "".join(codec.characters(prompt))) * bool(asked.echo)
        for prompt in prompts
    ]
    before: list[list[Token]] = [[] for _ in ids]
    if asked.echo and top is not None:
        before = [await service.queue.run(partial(rated, service.generator, each, top)) for each in ids]
    whole = Asked(service, ids, writers, "cmpl", list(map(len, shown)))

    def choice(index: int, text: str, tokens: Sequence[Token], finish: Any) -> Choice:
        told = None if top is None else log_probs(tokens, codec, top)
        return Choice(text=text, index=index, finish_reason=finish, logprobs=told)

    if asked.stream:
        firsts = [
            choice(i, shown[i // rows], before[i // rows], None if most else "length")
            for i in range(len(ids) * rows)
            if asked.echo
        ]
        return _streamed(
            asked, whole, Completion, firsts, lambda piece, new: choice(piece.index, piece.text, new, piece.finish)
        )
    texts = await whole.written()
    choices = []
    for prompt, known, some in zip(shown, before, [texts[i : i + rows] for i in range(0, len(texts), rows)]):
        best = sorted(some, key=lambda text: -text.mean)[:n] if rows > n else some
        choices += [(prompt + text.text, [*known, *text.tokens], text.finish or "length") for text in best]
    return Completion(**whole.head, choices=[choice(i, *one) for i, one in enumerate(choices)], usage=whole.usage)


@router.post("/chat/completions", responses=EVENTS, response_model=ChatCompletion)
async def chat(asked: ChatRequest, service: Served) -> Any:
    """Answer a conversation, if the model has a chat template."""
    codec, n = service.generator.codec, asked.n or 1
    if asked.top_logprobs and not asked.logprobs:
        raise Refused("top_logprobs needs logprobs = true.", "top_logprobs")
    most = asked.max_completion_tokens or asked.max_tokens or min(MOST_TOKENS, service.settings.tokens)
    prompt = rendered(service.generator.folders[0], asked.messages)
    _check(asked, service, [prompt], n, most)
    ids = [_ids(prompt, service, "messages")]
    whole = Asked(service, ids, _writers(asked, service, ids, n, most, asked.top_logprobs or 0), "chatcmpl")

    def told(tokens: Sequence[Token]) -> Any:
        return chat_log_probs(tokens, codec) if asked.logprobs else None

    def chunk(piece: Piece, new: Sequence[Token]) -> ChatChunkChoice:
        finish: Any = piece.finish
        delta = {"content": piece.text} if piece.text else {}
        return ChatChunkChoice(index=piece.index, delta=delta, finish_reason=finish, logprobs=told(new))

    if asked.stream:
        delta = {"role": "assistant", "content": ""}
        firsts = [ChatChunkChoice(index=i, delta=delta, finish_reason=None, logprobs=None) for i in range(n)]
        return _streamed(asked, whole, ChatChunk, firsts, chunk)
    choices = [
        ChatChoice(
            index=i,
            message=ChatMessage(content=text.text),
            finish_reason="stop" if text.finish == "stop" else "length",
            logprobs=told(text.tokens),
        )
        for i, text in enumerate(await whole.written())
    ]
    return ChatCompletion(**whole.head, choices=choices, usage=whole.usage)


def _streamed(
    asked: SamplingRequest,
    whole: Asked,
    answer: type[Completion] | type[ChatChunk],
    firsts: Iterable[BaseModel],
    choice: Callable[[Piece, list[Token]], BaseModel],
) -> StreamingResponse:
    """An answer in events: what is known at once, each piece as it is written, and the usage if it is asked for."""

    def event(choices: list[BaseModel], usage: Usage | None = None) -> str:
        return f"data: {answer(**whole.head, choices=choices, usage=usage).model_dump_json()}\n\n"  # type: ignore[arg-type]

    async def events() -> AsyncIterator[str]:
        try:
            for first in firsts:
                yield event([first])
            async for piece, new in whole.pieces():
                yield event([choice(piece, new)])
            if asked.stream_options and asked.stream_options.include_usage:
                yield event([], whole.usage)
        except Exception:
            yield f"data: {json.dumps(openai_error(Refused(INTERNAL, status=500)))}\n\n"
            raise
        yield "data: [DONE]\n\n"

    return StreamingResponse(events(), media_type="text/event-stream", headers=STREAM_HEADERS)


def _card(service: Service) -> ModelCard:
    created = service.predictor.folders[0].weights().stat().st_mtime
    return ModelCard(id=service.name, created=int(created), owned_by="weft")


def _check_model(name: str | None, service: Service) -> None:
    if name not in (None, service.name):
        sentence = f"there is no model {name!r} here; this service has {service.name!r}."
        raise Refused(sentence, "model", "model_not_found", 404)


def _check(asked: SamplingRequest, service: Service, texts: Sequence[str], rows: int, most: int) -> None:
    """Refuse a request for another model, and one that is too large."""
    _check_model(asked.model, service)
    service.check_size([*texts, *asked.stops()])
    if rows > (limit := service.settings.texts):
        raise Refused(f"{rows:,} texts are too many; the limit is {limit:,} per request.", "n")
    if most > (limit := service.settings.tokens):
        raise Refused(f"max_tokens must be at most {limit:,}, got {most:,}.", "max_tokens")
    if asked.stream_options and not asked.stream:
        raise Refused("stream_options needs stream = true.", "stream_options")
    service.queue.check_room()


def _ids(prompt: str | list[int], service: Service, field: str) -> list[int]:
    context = service.generator.context
    try:
        ids = service.generator.prompt(prompt)
    except WeftError as error:
        raise Refused(str(error), field) from None
    if context is not None and len(ids) > context:
        sentence = f"{field}: {len(ids):,} tokens are too many; this model sees {context:,} at once."
        raise Refused(sentence, field, "context_length_exceeded")
    return ids


def _writers(
    asked: SamplingRequest, service: Service, prompts: Sequence[list[int]], rows: int, most: int, top: int
) -> list[Writer]:
    """So many writers for each prompt; without a seed, each prompt has one of its own."""
    sampling, stop = asked.sampling(len(service.generator.codec)), asked.stops()
    if not most:
        return []

    def each() -> Iterator[Writer]:
        for ids in prompts:
            seed = secrets.randbits(63) if asked.seed is None else asked.seed % SEEDS
            own = {"max_tokens": most, "seed": seed, "stop": stop, "alternatives": top, "off": asked.off}
            yield from (service.generator.writer(ids, sampling, draw=draw, **own) for draw in range(rows))  # type: ignore[arg-type]

    return list(each())

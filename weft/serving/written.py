"""What a request has of each of its texts: the text, its tokens, and how the model rates them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from weft.data.codecs import TextCodec
from weft.serving.openai_types import ChatLogProbs, ChatToken, LogProbs, TopToken
from weft.serving.streams import Piece
from weft.tasks.generator import Generator

LEAST = -9999.0  # JSON has no −∞


@dataclass(frozen=True)
class Token:
    id: int
    log_prob: float | None  # None: the first token is predicted from nothing
    top: Sequence[tuple[int, float]]  # the likeliest instead of it
    offset: int  # where it begins in the text


@dataclass
class Text:
    """A text as it is written. `offset` is where the next token begins; before it may be the prompt."""

    codec: TextCodec
    offset: int = 0
    text: str = ""
    tokens: list[Token] = field(default_factory=list)
    count: int = 0  # tokens written, those of a stop string too
    finish: str | None = None

    def __post_init__(self) -> None:
        self._add = self.codec.stream()
        self._end = self.offset  # of the text

    def grow(self, piece: Piece) -> list[Token]:
        """Take in a piece; return its tokens without those of a stop string."""
        new = []
        self._end += len(piece.text)
        for step in piece.steps:
            is_stop = piece.finish == "stop" and step.finish != "stop" and self.offset >= self._end
            if not is_stop:
                new.append(Token(step.token, max(step.log_prob, LEAST), step.top, self.offset))
            self.offset += len(self._add(step.token))
        self.text, self.finish = self.text + piece.text, piece.finish
        self.tokens, self.count = self.tokens + new, self.count + len(piece.steps)
        return new

    @property
    def mean(self) -> float:
        """The mean log-probability of a token."""
        return sum(token.log_prob or 0.0 for token in self.tokens) / max(1, len(self.tokens))


def rated(generator: Generator, ids: Sequence[int], top: int) -> list[Token]:
    """The tokens of a prompt, each rated by those before it."""
    offsets, at = [], 0
    for text in generator.codec.characters(ids):
        offsets.append(at)
        at += len(text)
    tokens = [Token(ids[0], None, (), 0)]
    if len(ids) > 1:
        found = generator.log_probs(ids[:-1])  # (T - 1, V)
        own = found[range(len(ids) - 1), ids[1:]].tolist()
        best = found.topk(min(top, found.size(1)), -1)
        tops = zip(best.indices.tolist(), best.values.tolist())
        tokens += [
            Token(i, max(value, LEAST), tuple(zip(*row)), offset)
            for i, value, row, offset in zip(ids[1:], own, tops, offsets[1:])
        ]
    return tokens


@lru_cache(100_000)
def name(codec: TextCodec, i: int) -> str:
    """A token as a text of its own; a special one, or a part of a character, as a person may see it."""
    [text] = codec.characters([i])
    return text if text and "\ufffd" not in text else codec.readable([i])[0] or f"<{i}>"


def log_probs(tokens: Sequence[Token], codec: TextCodec, top: int) -> LogProbs:
    """Tokens as /v1/completions tells them. The one that was written is among the likeliest, whatever its rank."""

    def likeliest(token: Token) -> dict[str, float] | None:
        if token.log_prob is None:
            return None
        found = {name(codec, i): max(value, LEAST) for i, value in reversed(token.top)}
        return {**dict(reversed(found.items())), name(codec, token.id): token.log_prob}

    return LogProbs(
        tokens=[name(codec, token.id) for token in tokens],
        token_logprobs=[token.log_prob for token in tokens],
        top_logprobs=[likeliest(token) for token in tokens] if top else None,
        text_offset=[token.offset for token in tokens],
    )


def chat_log_probs(tokens: Sequence[Token], codec: TextCodec) -> ChatLogProbs:
    """Tokens as /v1/chat/completions tells them."""

    def one(i: int, value: float) -> TopToken:
        own = name(codec, i)
        is_text = codec.characters([i]) == [own]
        return TopToken(token=own, logprob=max(value, LEAST), bytes=[*own.encode()] if is_text else None)

    return ChatLogProbs(
        content=[
            ChatToken(
                **one(token.id, token.log_prob or 0.0).model_dump(), top_logprobs=[one(*other) for other in token.top]
            )
            for token in tokens
        ]
    )

"""What OpenAI's routes are asked and what they answer, field by field."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, field_validator

from weft.decoding.sampling import Sampling
from weft.serving.answers import Refused
from weft.serving.service import HeadsOff
from weft.tasks.generator import MOST_TOKENS

STOPS = 4  # strings that end a text
SEEDS = 2**64  # OpenAI's are integers of 64 bits, with a sign
Ids = Annotated[list[StrictInt], Field(min_length=1)]


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="forbid")

    include_usage: StrictBool | None = None
    include_obfuscation: StrictBool | None = None  # OpenAI's padding against eavesdroppers; there is none


class Message(BaseModel):
    """One message of a conversation."""

    model_config = ConfigDict(extra="allow")  # names and the like, for the template

    role: StrictStr
    content: StrictStr | list["Part"] | None = None

    def plain(self) -> dict[str, Any]:
        """As a template expects it: the content is one text."""
        content = self.content if not isinstance(self.content, list) else "".join(part.text for part in self.content)
        return {**self.model_dump(exclude={"content"}), "content": content or ""}


class Part(BaseModel):
    """A part of a message in several."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["text"]
    text: StrictStr


class SamplingRequest(BaseModel):
    """What both routes that write texts can be asked."""

    model_config = ConfigDict(extra="forbid")

    model: StrictStr | None = Field(None, description="The name in /v1/models; null: the only one.")
    n: int | None = Field(None, ge=1, le=128, strict=True, description="Texts for each prompt; 1 by default.")
    temperature: float | None = Field(None, ge=0, le=100, allow_inf_nan=False, description="1 by default; 0: greedy.")
    top_p: float | None = Field(None, ge=0, le=1, allow_inf_nan=False)
    top_k: int | None = Field(None, ge=0, strict=True, description="Not in OpenAI's API; 0: all tokens.")
    min_p: float | None = Field(None, ge=0, le=1, allow_inf_nan=False, description="Not in OpenAI's API.")
    repetition_penalty: float | None = Field(
        None, gt=0, le=100, allow_inf_nan=False, description="Not in OpenAI's API."
    )
    presence_penalty: float | None = Field(None, ge=-2, le=2, allow_inf_nan=False)
    frequency_penalty: float | None = Field(None, ge=-2, le=2, allow_inf_nan=False)
    logit_bias: dict[str, Annotated[float, Field(ge=-100, le=100, allow_inf_nan=False)]] | None = Field(
        None, max_length=1000, description="By the id of a token, what is added to its logit."
    )
    seed: int | None = Field(None, ge=-(2**63), le=SEEDS - 1, strict=True, description="null: another one each time.")
    stop: StrictStr | list[StrictStr] | None = Field(None, description="Up to 4 strings; the text ends before them.")
    stream: StrictBool | None = Field(None, description="Send each piece as an event of the server.")
    stream_options: StreamOptions | None = None
    off: HeadsOff = Field([], description="Not in OpenAI's API: attention heads to switch off.")
    user: StrictStr | None = Field(None, description="Ignored.")

    def sampling(self, vocabulary: int) -> Sampling:
        bias = []
        for name, value in (self.logit_bias or {}).items():
            if not (name.isascii() and name.isdigit() and len(name) < 10 and int(name) < vocabulary):
                raise Refused(f"logit_bias: {name!r} is not the id of a token, 0 to {vocabulary - 1}.", "logit_bias")
            bias.append((int(name), value))
        own = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty")
        given = {name: value for name in own if (value := getattr(self, name)) is not None}
        return Sampling(**given, logit_bias=tuple(bias))

    def stops(self) -> tuple[str, ...]:
        stops = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())
        if len(stops) > STOPS:
            raise Refused(f"stop has {len(stops)} strings; at most {STOPS} are allowed.", "stop")
        if not all(stops):
            raise Refused("stop: a stop string must not be empty.", "stop")
        return stops


class CompletionRequest(SamplingRequest):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"prompt": "Once upon a time, ", "max_tokens": 16, "temperature": 0}]}
    )

    prompt: StrictStr | list[StrictStr] | Ids | list[Ids] | None = Field(
        None, description="A text, token ids, or a list of either; null or empty: the start of a document."
    )
    max_tokens: int | None = Field(None, ge=0, strict=True, description="16 by default; 0 only with echo.")
    best_of: int | None = Field(
        None, ge=1, le=128, strict=True, description="Generate this many continuations and return the n most likely."
    )
    logprobs: int | None = Field(
        None,
        ge=0,
        le=5,
        strict=True,
        description="Return log-probabilities of the tokens and of this many alternatives.",
    )
    echo: StrictBool | None = Field(None, description="Return the prompt too; with logprobs, those of its tokens.")
    suffix: str | None = Field(None, description="Not supported.")

    @field_validator("prompt", mode="before")
    @classmethod
    def _known_kind(cls, prompt: Any) -> Any:
        """One sentence instead of one for each kind that it is not."""
        parts = prompt if isinstance(prompt, list) else [prompt]
        for part in parts if any(isinstance(part, list) for part in parts) else [parts]:
            kinds = {type(one) for one in part} if isinstance(part, list) else {type(part)}
            is_one = kinds <= {int} or (kinds <= {str} and part is parts) or (kinds == {type(None)} and prompt is None)
            if not part or not is_one:
                raise ValueError("must be a text, a list of texts, a list of token ids or a list of such lists")
        return prompt

    def prompts(self) -> list[str | list[int]]:
        """Each prompt, a text or ids."""
        if self.prompt is None or isinstance(self.prompt, str):
            return [self.prompt or ""]
        ids = [i for i in self.prompt if isinstance(i, int)]
        return [ids] if ids else [one for one in self.prompt if not isinstance(one, int)]


class ChatRequest(SamplingRequest):
    model_config = ConfigDict(json_schema_extra={"examples": [{"messages": [{"role": "user", "content": "Hello"}]}]})

    messages: list[Message] = Field(min_length=1)
    max_tokens: int | None = Field(None, ge=1, strict=True, description=f"{MOST_TOKENS} by default.")
    max_completion_tokens: int | None = Field(None, ge=1, strict=True, description="Another name of max_tokens.")
    logprobs: StrictBool | None = None
    top_logprobs: int | None = Field(None, ge=0, le=20, strict=True, description="Needs logprobs.")


class LogProbs(BaseModel):
    tokens: list[str]
    token_logprobs: list[float | None] = Field(
        description="By the model, whatever it was drawn from; null for the first."
    )
    top_logprobs: list[dict[str, float] | None] | None
    text_offset: list[int] = Field(description="Where each token begins in the text, in Unicode characters.")


class Choice(BaseModel):
    text: str
    index: int
    finish_reason: Literal["stop", "length"] | None
    logprobs: LogProbs | None


class Usage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(BaseModel):
    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage | None


class TopToken(BaseModel):
    token: str
    logprob: float
    bytes: list[int] | None = Field(description="null for a special token and for a part of a character.")


class ChatToken(TopToken):
    top_logprobs: list[TopToken]


class ChatLogProbs(BaseModel):
    content: list[ChatToken]
    refusal: None = None


class ChatMessage(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class ChatChoice(BaseModel):
    index: int
    message: ChatMessage
    finish_reason: Literal["stop", "length"]
    logprobs: ChatLogProbs | None


class ChatCompletion(BaseModel):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[ChatChoice]
    usage: Usage


class ModelCard(BaseModel):
    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[ModelCard]


class ChatChunkChoice(BaseModel):
    index: int
    delta: dict[str, str]
    finish_reason: Literal["stop", "length"] | None
    logprobs: ChatLogProbs | None


class ChatChunk(BaseModel):
    """One event of a streamed answer."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChatChunkChoice]
    usage: Usage | None

"""The tokeniser's routes, as vLLM has them. lm-eval asks them, and so needs no other tokeniser."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from weft.serving.chat import template_of
from weft.serving.service import Served

router = APIRouter(tags=["tokeniser"])


class TokenizeRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"prompt": "Once upon a time, "}]})

    prompt: StrictStr
    model: StrictStr | None = None
    add_special_tokens: StrictBool | None = Field(None, description="Whether to begin as prompts do.")


class TokenizeAnswer(BaseModel):
    count: int
    max_model_len: int | None = Field(description="Tokens that the model sees at once; null: any number.")
    tokens: list[int]


class DetokenizeRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"tokens": [5, 6, 7]}]})

    tokens: list[StrictInt]
    model: StrictStr | None = None


class DetokenizeAnswer(BaseModel):
    prompt: str


class TokenizerAnswer(BaseModel):
    tokenizer_class: str
    vocab_size: int
    bos_token: None = None  # no text stands for a special token
    eos_token: None = None
    chat_template: str | None


@router.post("/tokenize")
async def tokenize(asked: TokenizeRequest, service: Served) -> TokenizeAnswer:
    """Return the tokens of a text."""
    service.check_size([asked.prompt])
    generator = service.generator
    [ids] = [generator.prompt(asked.prompt)] if asked.add_special_tokens else generator.codec.pieces_of([asked.prompt])
    return TokenizeAnswer(count=len(ids), max_model_len=generator.context, tokens=ids)


@router.post("/detokenize")
async def detokenize(asked: DetokenizeRequest, service: Served) -> DetokenizeAnswer:
    """Return the text of some tokens."""
    generator = service.generator
    generator.check_ids(asked.tokens)
    return DetokenizeAnswer(prompt="".join(generator.codec.characters(asked.tokens)))


@router.get("/tokenizer_info")
async def tokenizer_info(service: Served) -> TokenizerAnswer:
    """Describe the tokeniser."""
    codec = service.generator.codec
    return TokenizerAnswer(
        tokenizer_class=codec.name,
        vocab_size=len(codec),
        chat_template=template_of(service.generator.folders[0]),
    )

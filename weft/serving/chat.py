"""Conversations as one text: the chat template in a model's about.json, as those of Hugging Face."""

from collections.abc import Sequence
from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from weft.folder import Folder
from weft.serving.answers import Refused
from weft.serving.openai_types import Message


def template_of(folder: Folder) -> str | None:
    """The chat template that a model records."""
    template = folder.about().get("chat_template")
    return template if isinstance(template, str) else None


def rendered(folder: Folder, messages: Sequence[Message]) -> str:
    """The text that a model continues to answer these messages."""
    if (template := template_of(folder)) is None:
        sentence = "this model was not trained on conversations: it has no chat template. Use /v1/completions."
        raise Refused(sentence, "messages")
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = _refuse
    given: dict[str, Any] = {"messages": [message.plain() for message in messages], "add_generation_prompt": True}
    try:  # special tokens have no text
        return environment.from_string(template).render(**given, bos_token="", eos_token="", pad_token="")
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise Refused(f"the chat template of this model: {error}.", "messages") from None


def _refuse(sentence: str) -> NoReturn:
    raise TemplateError(sentence)

"""`import_model` turns public weights into a model folder, written completely or not at all."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.folder import MOST_BYTES, Folder
from weft.imports.gguf_file import MAGIC, read_gguf
from weft.imports.huggingface import read_huggingface
from weft.imports.llama2c import read_llama2c
from weft.imports.shape import Found

KEPT = ("README.md", "LICENSE", "LICENSE.txt", "LICENSE.md")  # copied with the weights
LONGEST_TEMPLATE = MOST_BYTES // 2


def import_model(source: Path, out: Path, tokenizer: Path | None = None) -> Folder:
    """Read a Hugging Face folder, a GGUF file or a model of llama2.c; `out` must be new.

    `tokenizer` is the vocabulary of a llama2.c model, if it is not in the same folder.
    """
    if out.exists():
        raise WeftError(f"{out} already exists; choose another --out.")
    form, found = read(source, tokenizer)
    name = source.resolve().stem if source.is_file() else source.resolve().name
    plan = replace(found.shape.plan, name=name, about=f"imported from {form}")
    draft = out.with_name(f".{out.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder = Folder(draft)
        noted = {"imported": {"from": name, "format": form}, "context": found.shape.context, **_kept(found.facts)}
        folder.describe(plan, {"tokeniser": found.codec}, **noted)
        folder.finish(found.shape.weights)
        folder.model()  # checks that all tensors fit the plan
        for text in KEPT:
            if (file := source / text).is_file() and file.stat().st_size <= MOST_BYTES:
                shutil.copyfile(file, draft / text)
        draft.replace(out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return Folder(out)


def read(source: Path, tokenizer: Path | None = None) -> tuple[str, Found]:
    """The format of the files, and their contents."""
    if source.is_dir():
        if not (source / "config.json").is_file():
            raise WeftError(f"{source} is not a Hugging Face folder: it has no config.json.")
        _no_tokenizer(tokenizer, "a folder has its own")
        return "Hugging Face", read_huggingface(source)
    if not source.is_file():
        raise WeftError(f"there is no file or folder {source}.")
    with source.open("rb") as stream:
        first = stream.read(len(MAGIC))
    if first == MAGIC:
        _no_tokenizer(tokenizer, "a GGUF file has its own")
        return "GGUF", read_gguf(source)
    if source.suffix == ".bin":
        return "llama2.c", read_llama2c(source, tokenizer)
    raise WeftError(
        f"{source}: weft imports Hugging Face folders (config.json, weights and tokeniser), GGUF files and .bin files "
        "of llama2.c."
    )


def _no_tokenizer(given: Path | None, reason: str) -> None:
    if given is not None:
        raise WeftError(f"--tokenizer is for models of llama2.c; {reason}.")


def _kept(facts: Any) -> dict[str, Any]:
    """All facts, without a chat template that is too long for about.json."""
    return {key: value for key, value in facts.items() if key != "chat_template" or len(value) <= LONGEST_TEMPLATE}

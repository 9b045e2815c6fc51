"""weft import FOLDER_OR_FILE --out MODEL"""

from pathlib import Path
from typing import Annotated

import typer


def import_(
    source: Annotated[Path, typer.Argument(help="A Hugging Face folder, a GGUF file or a .bin file of llama2.c.")],
    out: Annotated[Path, typer.Option(help="The model folder to write; must not exist yet.")],
    tokenizer: Annotated[
        Path | None, typer.Option(help="The tokenizer.bin of a llama2.c model, if it is not in the same folder.")
    ] = None,
) -> None:
    """Make a model of weft from public weights of the shape of GPT-2 or Llama.

    weft import ./SmolLM2-135M --out smollm

    weft import model.Q8_0.gguf --out model

    weft import stories15M.bin --out stories
    """
    from weft.imports.importing import import_model
    from weft.weights import parameters

    folder = import_model(source, out, tokenizer)
    model, plan = folder.model(), folder.plan()
    count = sum(parameter.numel() for parameter in parameters(model).values())
    print(
        f"{out}: {count:,} parameters in {plan.decoder.layers} layers of {plan.width}, "
        f"{plan.vocabulary:,} tokens, context {folder.about()['context']:,}"
    )

"""weft attend MODEL "sentence" --png FILE"""

from pathlib import Path
from typing import Annotated

import typer

from weft.commands.options import Model, one_line


def attend(
    model: Model,
    sentence: Annotated[str, typer.Argument(help="What to translate and look at.")],
    png: Annotated[Path, typer.Option(help="Where to write the picture.")],
    target: Annotated[str | None, typer.Option(help="Look at this translation instead of the model's own.")] = None,
    layer: Annotated[int | None, typer.Option(help="A decoder layer, counted from 1; all of them by default.")] = None,
    head: Annotated[int | None, typer.Option(help="A head, counted from 1; the mean of all by default.")] = None,
) -> None:
    """Draw what the decoder looks at while it writes a translation.

    weft attend en-de "The cat sleeps on the mat." --png cat.png
    """
    from importlib.util import find_spec

    from weft.errors import WeftError
    from weft.translator import load

    if not find_spec("matplotlib"):
        raise WeftError('pictures need matplotlib: pip install "weft[view]".')
    if not sentence.strip():
        raise WeftError("the sentence is empty: there is nothing to look at.")
    translator = load(model)
    seen = translator.attention(sentence, target)
    seen.save_png(png, layer, head)
    print(one_line(seen.translation))
    print(f"{png}: {len(seen.target)} × {len(seen.source)} tokens")

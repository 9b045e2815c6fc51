"""Language models that were never trained, in folders: what the tests of their task and their predictor share."""

from pathlib import Path
from typing import Any

import torch

from tests.toys import SMALL_ALONE
from weft.data.codecs import Subwords, TextCodec
from weft.data.codecs.symbols import Characters
from weft.folder import Folder
from weft.plans.presets import plan
from weft.tasks.generator import Generator
from weft.weights import parameters, save_weights

TEXT = "to be, or not to be: that is the question"
CHARACTERS = Characters.train([TEXT], 100)
BYTES = Subwords.train([TEXT * 3], 262)  # and two merges


def generator(
    folder: Path, codec: TextCodec = CHARACTERS, *, seed: int = 1, starts: bool = False, **settings: Any
) -> Generator:
    """By default, it sees 16 tokens at once."""
    small = {**SMALL_ALONE, "dropout": 0.0, "batching.length": 16, "vocabulary": len(codec), "codec": codec.name}
    if "position" not in settings:
        small["position.limit"] = 16
    if "mixer" in settings:
        del small["mixer.heads"]
    recipe = plan("gpt-tiny").with_settings({**small, **settings})
    torch.manual_seed(seed)
    model = recipe.build()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    found = Folder(folder)
    found.describe(recipe, {"tokeniser": codec}, starts=starts)
    save_weights(dict(parameters(model)), found.average)
    return Generator([found])

"""A toy that several tests share: a language model with random weights, over the subwords of two sentences."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from weft.data.codecs import Subwords
from weft.folder import Folder
from weft.plans.presets import plan
from weft.weights import parameters, save_weights

SENTENCES = "The red cat sees a blue dog. A green bird likes the old house by the river.\n" * 20
SMALL: Mapping[str, Any] = {
    "codec": "subwords",
    "vocabulary": 290,
    "width": 16,
    "layers": 2,
    "mixer.heads": 2,
    "feed_forward.hidden": 16,
    "position.limit": 48,
    "training.batching.length": 48,
}


def toy_generator(out: Path, **facts: object) -> Folder:
    """A model folder that was never trained: it has a distribution of its own after each token, and no sense."""
    recipe = plan("gpt-tiny").with_settings(SMALL)
    torch.manual_seed(1)
    folder = Folder(out)
    folder.describe(recipe, {"tokeniser": Subwords.train([SENTENCES], recipe.vocabulary)}, starts=True, **facts)
    model = recipe.build()
    for weight in model.parameters():
        weight.data += 0.3 * torch.randn_like(weight)
    save_weights(dict(parameters(model)), folder.average)
    return folder

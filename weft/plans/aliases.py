"""Aliases of settings and parts: their names in other tools, and former names in weft.

Both are accepted wherever a user types them, and in stored plans; weft writes the current names.
"""

from collections.abc import Iterable

SETTINGS = {
    "lr": "rate",
    "optimizer": "optimiser",
    "learning_rate": "rate",
    "max_length": "longest",
    "batch_size": "batch_tokens",
    "max_steps": "steps",
    "warmup": "schedule.warmup",
    "warmup_steps": "schedule.warmup",
    "max_grad_norm": "clip",
    "gradient_accumulation_steps": "accumulate",
    "d_model": "width",
    "hidden_size": "width",
    "num_layers": "layers",
    "vocab_size": "vocabulary",
    "d_ff": "feed_forward.hidden",
    "label_smoothing": "head.smoothing",
}
REMARKS = {"batch_size": "batch_size is taken as batch_tokens: tokens per batch and side, not examples"}
FORMER_SECTION = "ends."  # once had embedding, position, head, vocabulary and sharing
PARTS = {
    "join": {"replace": "none"},
    "stack": {
        "ending": "final-states",
        "recalling": "with-embeddings",
        "unfolded": "stretched",
        "continuing": "from-encoder-state",
        "attend-first": "bahdanau",
        "attend-below": "gnmt",
        "attend-everywhere": "convs2s",
        "stacked": "bytenet",
    },
}


def setting(key: str) -> str:
    """The current name of a setting.

    >>> setting("lr"), setting("encoder.num_layers"), setting("ends.head.smoothing"), setting("schedule.warmup")
    ('rate', 'encoder.layers', 'head.smoothing', 'schedule.warmup')
    """
    *section, name = key.replace("-", "_").removeprefix(FORMER_SECTION).split(".")
    if len(section) > 1:
        return ".".join([*section, name])
    *slot, current = SETTINGS.get(name, name).split(".")
    return ".".join([*section, *(slot if slot != section else ()), current])


def remarks(settings: Iterable[str]) -> list[str]:
    """What to tell about settings whose names count something else in other tools."""
    names = {each.partition("=")[0].strip().replace("-", "_").rpartition(".")[2] for each in settings}
    return [remark for name, remark in REMARKS.items() if name in names]


def part(slot: str, name: str) -> str:
    """The current name of a part.

    >>> part("join", "replace"), part("norm", "layer")
    ('none', 'layer')
    """
    return PARTS.get(slot, {}).get(name, name)

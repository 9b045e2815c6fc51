"""A plan of a model small enough to look at."""

from weft.models.encoder_decoder import EncoderDecoder
from weft.plans.plan import Plan

TINY = {
    "width": 8,
    "layers": 2,
    "mixer.heads": 2,
    "cross.heads": 2,
    "feed_forward.hidden": 12,
    "dropout": 0.0,
    "vocabulary": 260,
}


def tiny(**settings: object) -> EncoderDecoder:
    """In double precision, ready to be used; `head="linear"`, `position="none"` …"""
    return Plan().with_settings({**TINY, **settings}).build().double().eval()

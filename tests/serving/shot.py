"""`weft` with a thread that computes and can be shot: python -m tests.serving.shot serve …

After SIGUSR1 the next step of a decoder ends the thread that it runs in.
"""

import signal
import sys
from typing import Any

from weft.commands import run
from weft.models.encoder_decoder import EncoderDecoder

bullets: list[int] = []
decode = EncoderDecoder.decode


def decode_or_die(model: EncoderDecoder, *given: Any, **named: Any) -> Any:
    if bullets:
        bullets.pop()
        raise SystemExit("shot")
    return decode(model, *given, **named)


EncoderDecoder.decode = decode_or_die  # type: ignore[method-assign]
signal.signal(signal.SIGUSR1, lambda number, frame: bullets.append(number))
run(sys.argv[1:])

"""How does the cost of a training step grow with width, depth and length?

    python -m benchmarks.growth                         the table of docs/scale.md
    python -m benchmarks.growth --quick --json          fewer sizes, fewer rounds

One thing grows at a time, from 3+3 layers of width 256 on sentences of 16 tokens. A step has 4,096 tokens on each side,
no padding, a vocabulary of 10,000, Adam, clipping, dropout and label smoothing. Useful work counts matrix products and
attention, against plain float32 matrix products timed in the same rounds.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import torch

from benchmarks.measure import Timing, interleaved, matmul_peak, peak_operations
from benchmarks.record import arguments, record
from benchmarks.tables import growth as table
from benchmarks.training import PLACES, VOCABULARY, turn, weft_mean
from tests.pairs import pair_batch
from weft.data.codecs.subwords import END
from weft.plans.plan import Plan
from weft.plans.presets import plan
from weft.plans.size import step_cost

HEAD = 64  # the width of a head


@dataclass(frozen=True)
class Size:
    width: int = 256
    layers: int = 3  # on each side
    length: int = 16

    def plan(self) -> Plan:
        heads = self.width // HEAD
        return plan("transformer-small").with_settings(
            {
                "width": self.width,
                "layers": self.layers,
                "mixer.heads": heads,
                "cross.heads": heads,
                "feed_forward.hidden": 4 * self.width,
                "vocabulary": VOCABULARY,
                "batch_tokens": PLACES,
                "accumulate": 1,
            }
        )


def grown(quick: bool) -> list[Size]:
    """The middle, and what grows from it."""
    widths = (128, 512) if quick else (128, 512, 1024)
    depths = (1, 6) if quick else (1, 6, 12)
    lengths = (64, 256) if quick else (8, 32, 64, 128, 256)
    sizes = [Size()]
    for name, values in (("width", widths), ("layers", depths), ("length", lengths)):
        sizes += [replace(Size(), **{name: value}) for value in values]
    return sizes


def measure(quick: bool) -> list[dict[str, float]]:
    sizes = grown(quick)
    times = interleaved({**{str(size): step(size) for size in sizes}, "peak": matmul_peak()}, 2 if quick else 5)
    peak = peak_operations() / times["peak"].median
    return [row(size, times[str(size)], peak) for size in sizes]


def step(size: Size) -> Callable[[], None]:
    """A training step of this size."""
    torch.manual_seed(1)
    model = size.plan().build()
    rows = torch.randint(END + 1, VOCABULARY, (2, PLACES // size.length, size.length))
    rows[..., -1] = END
    return turn(model, weft_mean(model), [pair_batch(*rows)])


def row(size: Size, time: Timing, peak: float) -> dict[str, float]:
    cost = step_cost(size.plan(), size.length)
    return {
        **asdict(size),
        "target_tokens_per_second": round(cost.tokens / time.median),
        "gigaoperations": round(cost.operations / 1e9),
        "fraction_of_matmul_peak": round(cost.operations / time.median / peak, 3),
        **time.to_dict(),
    }


def main() -> None:
    given = arguments(__doc__, quick="seven sizes, two rounds").parse_args()
    found = {"sizes": measure(given.quick)}
    record(given, "growth", found, table(found))


if __name__ == "__main__":
    main()

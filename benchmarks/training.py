"""How fast is a training step, compared with other libraries that do the same work?

    python -m benchmarks.training                       tiny and base size, five rounds, peak memory
    python -m benchmarks.training --size tiny --quick --json

Every system trains the same plan from the same weights on the same batches, with Adam, clipping, dropout and label
smoothing; before it is timed, its loss without dropout must equal weft's. Batches have 4,096 positions on their longer
side, with sentence lengths drawn to resemble Multi30k's, and a vocabulary of 10,000. Useful work counts real tokens
only, without padding, against plain float32 matrix products timed in the same rounds.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.measure import interleaved, matmul_peak, peak_memory, peak_operations
from benchmarks.peers import TorchTransformer, transformers_logits, transformers_model
from benchmarks.record import arguments, record
from benchmarks.tables import training as table
from weft.data.codecs.subwords import END, PAD, START
from weft.data.pairs import batch_of
from weft.models.base import Batch
from weft.models.encoder_decoder import EncoderDecoder
from weft.parts.batching import group_by_length
from weft.plans.plan import Plan
from weft.plans.presets import plan

VOCABULARY, PLACES = 10_000, 4096
SIZES = {"tiny": "transformer-tiny", "base": "transformer-base"}
BATCHES = {"tiny": 8, "base": 1}  # in a turn
FORWARD_AND_BACK = 3  # products with a matrix: one forward, two back
Mean = Callable[[Batch], Tensor]


def batches_like_multi30k(count: int, seed: int = 1) -> list[Batch]:
    """Lengths as in Multi30k with 10,000 subwords: about 14 tokens, a target close to its source."""
    random = np.random.default_rng(seed)
    source = np.clip(random.lognormal(2.58, 0.30, 20_000), 4, 45).astype(int)
    target = np.clip(source + random.normal(0, 2.2, len(source)), 4, 45).astype(int)
    pairs = [tuple([*random.integers(3, VOCABULARY, n - 1), END] for n in lengths) for lengths in zip(source, target)]
    groups = group_by_length(pairs, PLACES)
    return [batch_of([pairs[i] for i in groups[g]], START) for g in random.permutation(len(groups))[:count]]


def mean_of(logits: Callable[[Batch], Tensor]) -> Mean:
    """Smoothed cross-entropy as anyone would write it."""

    def loss(batch: Batch) -> Tensor:
        return F.cross_entropy(
            logits(batch).flatten(0, 1), batch.target.flatten(), ignore_index=PAD, label_smoothing=0.1
        )

    return loss


def weft_mean(model: EncoderDecoder) -> Mean:
    def loss(batch: Batch) -> Tensor:
        found = model(batch)
        return found.objective / found.count  # type: ignore[no-any-return]

    return loss


def systems(recipe: Plan) -> dict[str, tuple[nn.Module, Mean]]:
    torch.manual_seed(1)
    model = recipe.build(vocabulary=VOCABULARY)
    other, torch_own = transformers_model(model, recipe), TorchTransformer(model, recipe)
    return {
        "weft": (model, weft_mean(model)),
        "transformers Marian": (other, mean_of(lambda batch: transformers_logits(other, batch))),
        "torch.nn.Transformer": (torch_own, mean_of(torch_own)),
    }


def check(all_systems: dict[str, tuple[nn.Module, Mean]], batch: Batch) -> dict[str, float]:
    """How far each system's loss is from weft's, without dropout; stops where it is not the same model."""
    with torch.no_grad():
        losses = {name: float(mean(batch)) for name, (model, mean) in all_systems.items() if model.eval()}
    apart = {name: abs(loss - losses["weft"]) for name, loss in losses.items()}
    if max(apart.values()) > 1e-4:
        sys.exit(f"the systems do not compute the same loss: {losses}")
    return apart


def turn(model: nn.Module, mean: Mean, batches: list[Batch]) -> Callable[[], None]:
    """Training steps on these batches."""
    model.train()
    optimiser = torch.optim.Adam(model.parameters(), 1e-4, betas=(0.9, 0.98), fused=True)

    def steps() -> None:
        for batch in batches:
            optimiser.zero_grad()
            torch.autograd.backward(mean(batch))
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()

    return steps


def operations(model: EncoderDecoder, batches: list[Batch]) -> int:
    """Additions and multiplications of matrix products on real tokens, forward and back; attention's own left out."""
    weights = {
        name: sum(m.weight.numel() for m in part.modules() if isinstance(m, nn.Linear))
        for name, part in (("encoder", model.encoder), ("decoder", model.decoder))
    }
    # Encoder-decoder attention projects keys and values of the source.
    keys = sum(layer.cross.body.project.weight[layer.cross.body.widths[0] :].numel() for layer in model.decoder.layers)
    sources = sum(int((batch.source != PAD).sum()) for batch in batches)
    targets = sum(int((batch.target != PAD).sum()) for batch in batches)
    of_source, of_target = weights["encoder"] + keys, weights["decoder"] - keys + model.head.words.weight.numel()
    return FORWARD_AND_BACK * 2 * (sources * of_source + targets * of_target)


def measure(size: str, rounds: int) -> dict[str, Any]:
    recipe = plan(SIZES[size])
    batches = batches_like_multi30k(BATCHES[size])
    found = systems(recipe)
    apart = check(found, batches[0])
    turns = {name: turn(model, mean, batches) for name, (model, mean) in found.items()}
    times = interleaved({**turns, "matmul": matmul_peak()}, rounds)
    peak = peak_operations() / times.pop("matmul").median
    fastest = min((name for name in times if name != "weft"), key=lambda name: times[name].median)
    tokens = sum(int((batch.target != PAD).sum()) for batch in batches)
    return {
        "size": size,
        "plan": SIZES[size],
        "batches": len(batches),
        "rounds": rounds,
        "ratio_to_fastest_peer": round(times[fastest].median / times["weft"].median, 3),
        "fastest_peer": fastest,
        "fraction_of_matmul_peak": round(operations(found["weft"][0], batches) / times["weft"].median / peak, 3),
        "matmul_peak_gflops": round(peak / 1e9),
        "systems": {
            name: {**time.to_dict(), "target_tokens_per_second": round(tokens / time.median), "loss_apart": apart[name]}
            for name, time in times.items()
        },
    }


def main() -> None:
    options = arguments(__doc__, quick="three rounds, no peak memory")
    options.add_argument("--size", choices=SIZES, action="append")
    options.add_argument("--only", help="one system, a few steps: for peak memory")
    given = options.parse_args()
    for size in given.size or SIZES:
        if given.only:
            model, mean = systems(plan(SIZES[size]))[given.only]
            turn(model, mean, batches_like_multi30k(3))()
            continue
        found = measure(size, 3 if given.quick else 7)
        if not given.quick:
            for name, row in found["systems"].items():
                row["peak_memory_mb"] = peak_memory("benchmarks.training", "--size", size, "--only", name)
        record(given, f"training-{size}", found, table(found))


if __name__ == "__main__":
    main()

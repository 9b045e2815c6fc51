"""What a plan costs, against torch's own counts."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from weft.models.sequence_to_sequence import Batch
from weft.plans.cost import outline, parameters_by_part, step_cost
from weft.plans.presets import plan

SMALL = ["width=32", "layers=2", "vocabulary=300", "batch_tokens=60", "accumulate=2", "mixer.heads=2", "cross.heads=2"]


def test_every_parameter_is_counted_once() -> None:
    model = outline(plan("transformer-tiny"))
    counts = parameters_by_part(model)
    assert counts.total() == sum(p.numel() for p in model.parameters())
    assert counts["encoder feed-forward"] == 4 * (128 * 256 + 256 + 256 * 128 + 128)
    assert counts["source embedding"] == 10_000 * 128


@pytest.mark.parametrize("feed_forward", ["mlp", "swiglu"])
def test_a_step_costs_what_torch_counts(feed_forward: str) -> None:
    recipe = plan("transformer-tiny").with_settings([*SMALL, f"feed_forward={feed_forward}"])
    cost = step_cost(recipe, length=10)
    model = recipe.build().train()
    ids = torch.randint(4, 300, (12, 10))
    with FlopCounterMode(display=False) as counter:
        model(Batch(ids, ids)).objective.backward()
    assert cost.tokens == 120
    # The fused attention kernel computes Q Kᵀ once more on the way back, which is not useful work and not counted here.
    assert cost.operations == pytest.approx(counter.get_total_flops(), rel=0.05)
    assert cost.operations <= counter.get_total_flops()

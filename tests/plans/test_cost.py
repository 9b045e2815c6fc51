"""What a plan costs, against torch's own counts."""

import pytest
import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from weft.plans.cost import outline, parameters_by_part, step_cost
from weft.plans.presets import plan

SMALL = ["width=32", "layers=2", "vocabulary=300", "batch_tokens=60", "accumulate=2", "mixer.heads=2", "cross.heads=2"]


def test_every_parameter_is_counted_once() -> None:
    model = outline(plan("transformer-tiny"))
    counts = parameters_by_part(model)
    assert counts.total() == sum(p.numel() for p in model.parameters())
    assert counts["encoder feed-forward"] == 4 * (128 * 256 + 256 + 256 * 128 + 128)
    assert counts["source embedding = target embedding = head words"] == 10_000 * 128
    assert counts["head bias"] == 10_000


def test_what_is_not_shared_is_counted_apart() -> None:
    counts = parameters_by_part(outline(plan("transformer-tiny").with_settings(["sharing=separate", "head=linear"])))
    assert {counts[part] for part in ("source embedding", "target embedding", "head words")} == {10_000 * 128}


@pytest.mark.parametrize("feed_forward", ["mlp", "swiglu"])
def test_a_step_costs_what_torch_counts(feed_forward: str) -> None:
    recipe = plan("transformer-tiny").with_settings([*SMALL, f"feed_forward={feed_forward}"])
    cost = step_cost(recipe, length=10)
    model = recipe.build()
    ids = torch.randint(4, 300, (12, 10))
    # In plain products, which torch's counter knows: it does not know all kernels of the fast path.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        logits = model.head.logits(model.decode(ids, model.encode(ids)))
        F.cross_entropy(logits.flatten(0, 1), ids.flatten()).backward()
    assert cost.tokens == ids.numel()
    assert cost.operations == counter.get_total_flops()

"""What a plan costs, against torch's own counts."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from weft.plans.presets import plan
from weft.plans.size import outline, parameters_by_part, step_cost

SMALL = ["width=32", "layers=2", "vocabulary=300", "batch_tokens=60", "accumulate=2", "mixer.heads=2", "cross.heads=2"]


def test_every_parameter_is_counted_once() -> None:
    model = outline(plan("transformer-tiny"))
    counts = parameters_by_part(model)
    assert counts.total() == sum(p.numel() for p in model.parameters())
    assert counts["encoder mixer"] == 4 * (128 * 4 * 128 + 4 * 128)
    assert counts["encoder feed-forward"] == 4 * (128 * 256 + 256 + 256 * 128 + 128)
    assert counts["source embedding = target embedding = head words"] == 10_000 * 128
    assert counts["head bias"] == 10_000


@pytest.mark.parametrize(
    ("family", "others"),
    [
        ("seq2seq-rnn", set()),
        ("bahdanau", {"cross", "first state", "readout"}),
        ("luong", {"cross", "join"}),
        ("gnmt", {"cross", "first state"}),
        ("convs2s", {"cross"}),
        ("bytenet", {"norms", "join"}),
    ],
)
def test_the_same_has_the_same_name_in_every_family(family: str, others: set[str]) -> None:
    names = {name for name in parameters_by_part(outline(plan(f"{family}-tiny"))) if name.startswith("decoder ")}
    assert names == {f"decoder {name}" for name in {"mixer", *others}}


def test_what_is_not_shared_is_counted_apart() -> None:
    counts = parameters_by_part(outline(plan("transformer-tiny").with_settings(["sharing=separate", "head=linear"])))
    assert {counts[part] for part in ("source embedding", "target embedding", "head words")} == {10_000 * 128}


@pytest.mark.parametrize("feed_forward", ["mlp", "swiglu"])
def test_the_step_of_a_transformer_by_its_formula(feed_forward: str) -> None:
    """6 operations a weight and token, and 6 for each feature of a query or value and each key it meets."""
    recipe = plan("transformer-tiny").with_settings([*SMALL, f"feed_forward={feed_forward}"])
    cost, model = step_cost(recipe, length=10), outline(recipe)
    matrices = sum(m.weight.numel() for m in model.modules() if isinstance(m, nn.Linear))
    looks = 6 * 2 * 32  # 2 layers with 1 attention, 2 with 2; queries and values 32 wide
    assert cost.tokens == 120
    assert cost.operations == 6 * 120 * (matrices + 300 * 32 + looks * 10)


@pytest.mark.filterwarnings("ignore:TF32")  # torch says that there is no Intel GPU, whenever oneDNN is switched
@pytest.mark.parametrize(
    "name", ["seq2seq-rnn", "bahdanau", "luong", "gnmt", "convs2s", "bytenet", "transformer"], ids=str
)
def test_a_step_costs_what_torch_counts(name: str) -> None:
    """The model for once with numbers in it, on a whole batch."""
    recipe = plan(f"{name}-tiny").with_settings(["width=32", "vocabulary=300", "batch_tokens=60", "accumulate=2"])
    cost, model, ids = step_cost(recipe, length=10), recipe.build(), torch.randint(4, 300, (12, 10))
    # In plain products, which torch's counter knows: it does not know all kernels of the fast path.
    plain = torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH)
    with plain[0], plain[1], FlopCounterMode(display=False) as counter:
        logits = model.head.logits(model.decode(ids, model.encode(ids)))
        F.cross_entropy(logits.flatten(0, 1), ids.flatten()).backward()
    assert cost.operations == pytest.approx(counter.get_total_flops(), rel=0.01)


def test_recurrent_weights_are_counted_for_each_token() -> None:
    """Four LSTM layers of 8 D² weights, and the head."""
    recipe = plan("seq2seq-rnn-tiny")
    cost, D = step_cost(recipe), recipe.width
    assert cost.operations == pytest.approx(6 * cost.tokens * (4 * 8 * D**2 + 10_000 * D), rel=0.01)

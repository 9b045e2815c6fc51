"""Checks that stored weights are restored exactly, and that the fast attention kernel follows the formula."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor, nn

from weft.checking.model_under_test import Finding, ModelUnderTest
from weft.exports.agreement import worst
from weft.parts.attention import Attention, reference_attention
from weft.parts.call import Call
from weft.weights import load_weights, parameters, save_weights

ROUNDING = 1e-4  # relative to the largest output of an attention


def stored(subject: ModelUnderTest) -> Finding:
    """Saved and loaded = the original, bit for bit."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "model.safetensors")
        save_weights(dict(parameters(subject.model)), file)
        again = subject.folder.plan().build()
        load_weights(again, file)
    return other_bits(parameters(subject.model), parameters(again))


def other_bits(
    ours: dict[str, Tensor] | dict[str, nn.Parameter], theirs: dict[str, Tensor] | dict[str, nn.Parameter]
) -> Finding:
    """Count the weights that differ in any bit."""
    missing = ours.keys() ^ theirs.keys()
    count = sum(_unequal(ours[name].detach().cpu(), theirs[name].detach().cpu()) for name in ours.keys() - missing)
    return Finding(count + len(missing), 0, "weights")


def _unequal(one: Tensor, other: Tensor) -> int:
    """Count unequal stored values, by their bits: -0 is not 0, and NaN is equal to itself."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return max(one.numel(), 1)
    bits = [tensor.contiguous().flatten().view(torch.uint8).view(-1, tensor.element_size()) for tensor in (one, other)]
    return int((bits[0] != bits[1]).any(1).sum())


@torch.inference_mode()
def fast_attention(subject: ModelUnderTest) -> Finding | str:
    """Every attention of the model = softmax(Q Kᵀ / √d_k) V, written out."""
    gaps: list[float] = []

    def compare(attention: Attention, given: tuple[Tensor, Call], output: Tensor) -> None:
        heads = reference_attention(*attention.looks(*given).unshared())  # (B, H, T, K)
        clear = attention.out(heads.transpose(1, 2).flatten(2))  # (B, T, D)
        gap = (output - clear).abs().max()
        gaps.append(float(gap / clear.abs().max()) if gap else 0.0)  # avoids 0 / 0

    hooks = [part.register_forward_hook(compare) for part in subject.model.modules() if isinstance(part, Attention)]
    try:
        subject.model.hidden(subject.batch(subject.rows).inputs, Call())
    finally:
        for hook in hooks:
            hook.remove()
    return Finding(worst(gaps), ROUNDING, "output, relative") if gaps else "it has no attention with a fast kernel"

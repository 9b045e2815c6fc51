"""Our Transformer is `torch.nn.Transformer` with the same weights: forward, and the gradient of every weight."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from tests.models.tiny import tiny
from tests.pairs import pair_batch
from weft.data.codecs.subwords import END, PAD, START
from weft.models.encoder_decoder import EncoderDecoder
from weft.parts.positions import sinusoids

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # torch says that pre-norm is slower there

SOURCE = torch.tensor([[7, 8, 9, 5, END], [5, 11, END, PAD, PAD]])
TARGET = torch.tensor([[6, 10, END, PAD], [4, 5, 6, END]])
SMOOTHING = 0.1


def torchs_own(pre: bool) -> nn.Transformer:
    """Torch closes both stacks with a norm; the paper's post-norm, whose layers end in one, has none there."""
    own = nn.Transformer(8, 2, 2, 2, 12, 0.0, norm_first=pre, batch_first=True, dtype=torch.float64)
    if not pre:
        own.encoder.norm = own.decoder.norm = None
    return own


def torchs_name(name: str) -> str:
    """decoder.layers.1.cross.body.project.weight → decoder.layers.1.multihead_attn.in_proj_weight"""
    is_decoder = name.startswith("decoder")
    for ours, theirs in {
        "mix.body.project.": "self_attn.in_proj_",
        "mix.body.out": "self_attn.out_proj",
        "mix.wiring.norm": "norm1",
        "cross.body.project.": "multihead_attn.in_proj_",
        "cross.body.out": "multihead_attn.out_proj",
        "cross.wiring.norm": "norm2",
        "feed.body.project": "linear1",
        "feed.body.out": "linear2",
        "feed.wiring.norm": "norm3" if is_decoder else "norm2",
        "closing": "norm",
    }.items():
        name = name.replace(ours, theirs)
    return name


def pair(wiring: str) -> tuple[EncoderDecoder, nn.Transformer]:
    """Ours, and torch's with all its weights copied from ours."""
    ours = tiny(wiring=wiring, head={"name": "tied", "smoothing": SMOOTHING})
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))  # biases and gains away from zero and one
    theirs = torchs_own(pre=wiring == "pre")
    stacks = {name: value for name, value in ours.state_dict().items() if name.startswith(("encoder", "decoder"))}
    theirs.load_state_dict({torchs_name(name): value for name, value in stacks.items()})
    return ours, theirs.eval()


def entered(tokens: Tensor, words: Tensor) -> Tensor:
    return math.sqrt(8) * words[tokens] + sinusoids(tokens.size(1), 8)


def hidden_of(theirs: nn.Transformer, source: Tensor, target: Tensor, words: Tensor) -> Tensor:
    future, padding = torch.ones(target.size(1), target.size(1)).triu(1).bool(), source == PAD
    return theirs(
        entered(source, words),
        entered(target, words),
        tgt_mask=future,
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
    )


@pytest.mark.parametrize("wiring", ["post", "pre"])
def test_hidden_states_equal_torchs(wiring: str) -> None:
    ours, theirs = pair(wiring)
    words = ours.source.embedding.weight
    assert_close(ours.decode(TARGET, ours.encode(SOURCE)), hidden_of(theirs, SOURCE, TARGET, words))


@pytest.mark.parametrize("training", [False, True], ids=["eval", "training"])
@pytest.mark.parametrize("wiring", ["post", "pre"])
def test_loss_and_every_gradient_equal_torchs(wiring: str, training: bool) -> None:
    ours, theirs = pair(wiring)
    ours.train(training)
    theirs.train(training)
    words = ours.source.embedding.weight.detach().clone().requires_grad_()
    bias = ours.head.bias.detach().clone().requires_grad_()
    shifted = F.pad(TARGET[:, :-1], (1, 0), value=START)

    our_loss = ours(pair_batch(SOURCE, TARGET)).objective
    logits = F.linear(hidden_of(theirs, SOURCE, shifted, words), words, bias)
    their_loss = F.cross_entropy(
        logits.flatten(0, 1), TARGET.flatten(), ignore_index=PAD, reduction="sum", label_smoothing=SMOOTHING
    )
    assert_close(our_loss, their_loss)

    our_loss.backward()
    their_loss.backward()
    wanted = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    wanted |= {"source.embedding.weight": words.grad, "head.bias": bias.grad}
    found = {torchs_name(name): parameter.grad for name, parameter in ours.named_parameters()}
    assert found.keys() == wanted.keys()
    for name in wanted:
        assert_close(found[name], wanted[name], msg=lambda report, name=name: f"{name}: {report}")

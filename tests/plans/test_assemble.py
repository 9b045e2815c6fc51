"""From a plan to a model: what is shared, what is given to which layer, what is closed."""

import pytest
import torch
from torch import nn

from tests.parts.watchers import Looking
from weft.models.encoder_decoder import EncoderDecoder
from weft.parts.call import Call
from weft.parts.dropout import Dropout
from weft.parts.feed_forward import FeedForward
from weft.parts.norms import LayerNorm, NoNorm, RMSNorm
from weft.parts.positions import ConcatenatedSinusoid, Learned, NoPosition
from weft.plans.plan import Plan
from weft.plans.presets import plan

SMALL = {"width": 8, "layers": 2, "vocabulary": 260}


def built(**settings: object) -> EncoderDecoder:
    return Plan().with_settings({**SMALL, **settings}).build()


# Sharing is object identity


def test_one_matrix_three_ways() -> None:
    model = built()
    assert model.source.embedding is model.target.embedding
    assert model.head.words is model.target.embedding


def test_separate_embeddings_with_a_tied_head() -> None:
    model = built(sharing="separate")
    assert model.source.embedding is not model.target.embedding
    assert model.head.words is model.target.embedding


def test_a_linear_head_has_a_matrix_of_its_own() -> None:
    model = built(head="linear")
    assert model.head.words is not model.target.embedding
    assert model.source.embedding is model.target.embedding


def test_the_shared_matrix_is_counted_once() -> None:
    shared, own = (sum(p.numel() for p in built(head=head).parameters()) for head in ("tied", "linear"))
    assert own - shared == 260 * 8


# Layers


def test_layers_by_side() -> None:
    model = built(**{"encoder.layers": 1, "decoder.layers": 3})
    assert [name for name, _ in model.encoder.layers[0].named_children()] == ["mix", "feed"]
    assert [name for name, _ in model.decoder.layers[0].named_children()] == ["mix", "cross", "feed"]
    assert (len(model.encoder.layers), len(model.decoder.layers)) == (1, 3)


def test_a_list_of_parts_is_assigned_to_the_layers_in_turn() -> None:
    model = built(**{"layers": 5, "encoder.feed_forward": ["mlp", "swiglu"], "encoder.norm": ["layer", "rms", "none"]})
    gates = [len(layer.feed.body.activations) for layer in model.encoder.layers]
    norms = [type(layer.feed.wiring.norm) for layer in model.encoder.layers]
    assert gates == [1, 2, 1, 2, 1]
    assert norms == [LayerNorm, RMSNorm, NoNorm, LayerNorm, RMSNorm]


def test_no_two_layers_share_anything() -> None:
    model = built()
    modules = [module for layer in (*model.encoder.layers, *model.decoder.layers) for module in layer.modules()]
    assert len({id(module) for module in modules}) == len(modules)


def test_only_the_decoders_own_attention_is_causal() -> None:
    model = built()
    patterns = {name: m.body.is_causal for name, m in model.named_modules() if name.endswith(("mix", "cross"))}
    assert {name for name, is_causal in patterns.items() if is_causal} == {
        "decoder.layers.0.mix",
        "decoder.layers.1.mix",
    }


def test_pre_norm_is_closed_with_a_norm_and_post_norm_is_not() -> None:
    model = built(**{"encoder.wiring": "pre", "norm": "rms"})
    assert isinstance(model.encoder.closing, nn.RMSNorm)
    assert isinstance(model.decoder.closing, nn.Identity)


def test_dropout_where_the_paper_has_it() -> None:
    """On each sub-layer's output and on the embedding sums; inside attention and feed-forward none unless told."""
    model = built(**{"encoder.dropout": 0.25, "decoder.dropout": 0.5})
    rates = {name: module.p for name, module in model.named_modules() if isinstance(module, Dropout)}
    inside = {name: rate for name, rate in rates.items() if ".body." in name}
    assert set(inside.values()) == {0.0}
    around = [(name.split(".")[0], rate) for name, rate in rates.items() if name not in inside]
    assert sorted(around) == [
        *[("decoder", 0.5)] * 6,  # 2 layers of 3
        *[("encoder", 0.25)] * 4,
        ("source", 0.25),
        ("target", 0.5),
    ]


def test_dropout_inside_where_the_plan_says_so() -> None:
    model = built(**{"mixer.dropout": 0.25, "feed_forward.dropout": 0.5})
    assert {layer.mix.body.dropout for layer in model.encoder.layers} == {0.25}
    assert {layer.feed.body.dropout.p for layer in model.decoder.layers} == {0.5}
    assert {layer.cross.body.dropout for layer in model.decoder.layers} == {0.0}


@pytest.mark.parametrize(
    ("name", "looks"),
    {"seq2seq-rnn": 0, "bahdanau": 1, "luong": 1, "gnmt": 1, "convs2s": 5, "bytenet": 0, "transformer": 4}.items(),
)
def test_a_decoder_attends_as_often_as_its_paper_says(name: str, looks: int) -> None:
    """Each place at which a watcher sees attention to the source."""
    model, watch = plan(f"{name}-tiny").with_settings({"width": 16, "vocabulary": 260}).build(), Looking()
    ids = torch.tensor([[5, 6, 2]])
    model.decode(ids, model.encode(ids), Call(watch=watch))
    assert sum(place.endswith("cross") and name == "weights" for place, name in watch.seen) == looks


# Makers


def test_a_feed_forward_is_four_times_as_wide_inside_unless_told() -> None:
    assert built().encoder.layers[0].feed.body.out.in_features == 32
    assert built(**{"feed_forward.hidden": 5}).encoder.layers[0].feed.body.out.in_features == 5


def test_gated_units_have_as_many_parameters_as_the_mlp() -> None:
    """Three matrices 8/3 as wide against two that are four times as wide; only the biases differ."""
    mlp, gated = (
        sum(p.numel() for p in built(width=24, feed_forward=name).encoder.layers[0].feed.body.parameters())
        for name in ("mlp", "swiglu")
    )
    assert mlp == 2 * 24 * 96 + 96 + 24
    assert gated == 3 * 24 * 64 + 2 * 64 + 24


def test_gated_units_by_name() -> None:
    gates = {
        name: type(built(feed_forward=name).encoder.layers[0].feed.body.activations[0])
        for name in ("glu", "reglu", "geglu", "swiglu", "bilinear")
    }
    assert gates == {"glu": nn.Sigmoid, "reglu": nn.ReLU, "geglu": nn.GELU, "swiglu": nn.SiLU, "bilinear": nn.Identity}


def test_the_activation_of_the_mlp() -> None:
    feed = built(**{"feed_forward.activation": "gelu"}).encoder.layers[0].feed.body
    assert isinstance(feed, FeedForward)
    assert isinstance(feed.activations[0], nn.GELU)


def test_positions_by_name() -> None:
    assert isinstance(built(position="none").source.position, NoPosition)
    assert isinstance(built(position={"name": "learned", "limit": 300}).target.position, Learned)


def test_concatenated_positions_leave_the_rest_of_the_width_to_the_embedding() -> None:
    model = built(position="concatenated", head="linear")
    assert isinstance(model.source.position, ConcatenatedSinusoid)
    assert (model.source.embedding.embedding_dim, model.source.position.features) == (6, 2)
    assert model.head.words.embedding_dim == 8


def test_source_and_target_learn_positions_of_their_own() -> None:
    model = built(position="learned")
    assert model.source.position is not model.target.position


def test_the_head_is_smoothed_as_planned() -> None:
    assert built().head.smoothing == 0.1
    assert built(head="tied").head.smoothing == 0.0


def test_the_vocabulary_that_turned_out() -> None:
    assert Plan().with_settings(SMALL).build(vocabulary=300).source.embedding.num_embeddings == 300


def test_the_seed_decides_the_weights() -> None:
    def weights() -> torch.Tensor:
        torch.manual_seed(3)
        return torch.cat([p.flatten() for p in built().parameters()])

    assert torch.equal(weights(), weights())

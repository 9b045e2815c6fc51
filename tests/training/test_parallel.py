"""A model shared out: every worker has its slices, what is tied stays tied, and all of it can be put together again."""

from collections.abc import Iterator

import pytest
import torch
from torch import distributed
from torch.distributed.tensor import DTensor
from torch.testing._internal.distributed.fake_pg import FakeStore

from tests.pairs import pair_batch
from tests.precision import needs
from tests.training.tiny import are_equal, tiny_plan, weights_of
from weft.models.encoder_decoder import EncoderDecoder
from weft.parts.optimisers import Numbers
from weft.plans.catalogues import OPTIMISERS
from weft.training.kept import RunningMean
from weft.training.parallel import LocalModel, ShardedModel, fill, full_tensor, gathered, slice_like


@pytest.fixture
def group(request: pytest.FixtureRequest) -> Iterator[None]:
    """As many workers as the test says, of whom this is the first and the others do nothing."""
    backend, store = ("gloo", distributed.HashStore()) if request.param == 1 else ("fake", FakeStore())
    distributed.init_process_group(backend, rank=0, world_size=request.param, store=store)
    yield
    distributed.destroy_process_group()


def model() -> EncoderDecoder:
    return tiny_plan(dropout=0.0).build()


def locally(tensor: torch.Tensor) -> torch.Tensor:
    assert isinstance(tensor, DTensor)
    return tensor.to_local()


@pytest.mark.parametrize("group", [2], indirect=True)
def test_each_worker_holds_half_of_each_parameter(group: None) -> None:
    sizes = {name: weight.numel() for name, weight in weights_of(model()).items()}
    for name, parameter in ShardedModel(model()).model.named_parameters():
        assert locally(parameter).numel() == sizes[name] / 2, name


@pytest.mark.parametrize("group", [2], indirect=True)
def test_first_worker_gets_the_first_rows(group: None) -> None:
    sharded = ShardedModel(model())
    words = torch.arange(264.0 * 8).view(264, 8)
    assert locally(slice_like(words, sharded.model.head.words.weight)).equal(words[:132])
    assert slice_like(words, words) is words


@pytest.mark.parametrize("group", [1], indirect=True)
def test_tied_weights_stay_tied(group: None) -> None:
    sharded = ShardedModel(model())
    batch = pair_batch(torch.tensor([[5, 6, 2]]), torch.tensor([[7, 8, 2]]))
    torch.autograd.backward(sharded(batch).objective)
    torch.optim.SGD(sharded.model.parameters(), 0.1).step()
    with sharded.full_model() as plain:
        for one in (sharded.model, plain):
            assert one.source.embedding is one.target.embedding is one.head.words
        assert plain.head.words.weight.equal(full_tensor(sharded.model.head.words.weight))
        assert not isinstance(plain.head.words.weight, DTensor)
        assert torch.isfinite(plain(batch).objective)
    assert sum(parameter.numel() for parameter in sharded.plain.parameters()) == 0, "room is given back"


@pytest.mark.parametrize("group", [1], indirect=True)
def test_fill_and_gathered_round_trip(group: None) -> None:
    others = weights_of(model())
    sharded = ShardedModel(model())
    assert not are_equal(gathered(dict(sharded.model.named_parameters()), keep=True), others)
    fill(sharded.model, others)
    assert are_equal(gathered(dict(sharded.model.named_parameters()), keep=True), others)
    assert gathered(others, keep=False) == {}


@pytest.mark.parametrize("name", list(OPTIMISERS))
@pytest.mark.parametrize("group", [1], indirect=True)
def test_optimisers_and_means_of_slices_are_those_of_the_whole(group: None, name: str) -> None:
    needs(OPTIMISERS.makes(name).precision)
    batch = pair_batch(torch.tensor([[5, 6, 2]]), torch.tensor([[7, 8, 2]]))
    ends = []
    for wrap in (LocalModel, ShardedModel):
        torch.manual_seed(1)
        shared = wrap(model())
        optimiser = OPTIMISERS.build(name, shared.model, Numbers(0.01, (0.9, 0.98), 1e-9, 0.1))
        mean = RunningMean(shared.model, 0.9)
        for step in (1, 2):
            optimiser.zero_grad()
            torch.autograd.backward(shared(batch).objective)
            optimiser.step()
            mean.update(step)
        with shared.full_model(mean.instead) as shown:
            assert are_equal(weights_of(shown), gathered(mean.weights, keep=True))
        ends.append(gathered(mean.weights, keep=True))
    torch.testing.assert_close(*ends)

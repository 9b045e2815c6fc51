"""Call, Memory and State: their size is held here."""

from dataclasses import FrozenInstanceError, fields

import pytest
import torch
from torch.testing import assert_close

from tests.parts.watchers import Looking, Silencing
from weft.parts.call import Call, Memory, Penalties, State, Steps
from weft.parts.heads import Loss


def test_a_call_stays_this_small() -> None:
    expected = ["keep", "positions", "memory", "state", "watch", "penalties", "extras", "place"]
    assert [field.name for field in fields(Call)] == expected


def test_a_memory_stays_this_small() -> None:
    assert [field.name for field in fields(Memory)] == ["output", "keep", "embedded", "final"]


@pytest.mark.parametrize(
    ("thing", "name"), [(Call(), "place"), (Memory(torch.ones(1), torch.ones(1)), "keep")], ids=["Call", "Memory"]
)
def test_both_are_frozen(thing: Call | Memory, name: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(thing, name, None)


def test_a_call_knows_where_it_is() -> None:
    assert Call().at("decoder").at("3").at("cross").place == "decoder.3.cross"


def test_at_keeps_everything_else() -> None:
    keep, state = torch.tensor([[True]]), State()
    inner = Call(keep=keep, state=state).at("encoder")
    assert inner.keep is keep
    assert inner.state is state


def test_within_forgets_the_memory_and_nothing_else() -> None:
    state = State()
    inside = Call(memory=Memory(torch.ones(1, 1, 2), torch.ones(1, 1)), state=state, place="decoder").within()
    assert inside.memory is None
    assert inside.state is state
    assert inside.place == "decoder"


def loss() -> Loss:
    return Loss(torch.tensor(6.0, requires_grad=True), torch.tensor(5.0), 4)


def test_penalties_are_added_to_the_objective_for_each_token() -> None:
    penalties, weight = Penalties(), torch.tensor(0.5, requires_grad=True)
    call = Call(penalties=penalties)
    call.at("encoder").penalise(weight)
    call.at("decoder").penalise(2 * weight)
    before = loss()
    after = penalties.added_to(before)
    assert after.objective.item() == 6.0 + 4 * (0.5 + 1.0)
    assert after.nll is before.nll
    assert after.count == 4
    after.objective.backward()
    assert weight.grad == 4 * 3


def test_no_penalties_return_the_same_loss() -> None:
    before = loss()
    assert Penalties().added_to(before) is before


def test_a_part_with_a_penalty_refuses_to_train_without_a_collector() -> None:
    with pytest.raises(AssertionError, match=r"^encoder\.0\.feed has a penalty, but the call has no collector for it$"):
        Call(place="encoder.0.feed").penalise(torch.tensor(1.0))


def test_extras_reach_every_part() -> None:
    trees = torch.ones(2, 3)
    assert Call(extras={"trees": trees}).at("encoder").within().extras["trees"] is trees
    assert Call().extras == {}


def test_memory_of_some_sentences() -> None:
    memory = Memory(torch.arange(3.0).view(3, 1, 1), torch.tensor([[True], [False], [True]]))
    chosen = memory.select(torch.tensor([2, 1]))
    assert chosen.output.flatten().tolist() == [2.0, 1.0]
    assert chosen.keep.flatten().tolist() == [True, False]
    assert chosen.embedded is None


def test_memory_of_some_sentences_has_their_embeddings() -> None:
    memory = Memory(torch.zeros(2, 1, 1), torch.ones(2, 1), embedded=torch.tensor([[[5.0]], [[6.0]]]))
    assert memory.select(torch.tensor([1])).embedded.tolist() == [[[6.0]]]


def test_append_returns_everything_so_far() -> None:
    state = State()
    assert state.append("keys", torch.tensor([[1], [2]])).tolist() == [[1], [2]]
    assert state.append("keys", torch.tensor([[3], [4]])).tolist() == [[1, 3], [2, 4]]


def test_append_grows_beyond_the_reserved_steps() -> None:
    state = State()
    steps = [torch.tensor([[2 * i], [2 * i + 1]]) for i in range(100)]
    for step in steps:
        whole = state.append("keys", step)
    assert whole.tolist() == torch.cat(steps, 1).tolist()


def test_select_reorders_rows_between_appends() -> None:
    state = State()
    state.append("keys", torch.tensor([[1], [2], [3]]))
    state.select(torch.tensor([2, 0]))
    assert state.append("keys", torch.tensor([[4], [5]])).tolist() == [[3, 4], [1, 5]]


def test_append_keeps_names_apart() -> None:
    state = State()
    state.append("0.key", torch.tensor([[1]]))
    assert state.append("1.key", torch.tensor([[2]])).tolist() == [[2]]


def test_replace_keeps_the_newest_and_select_moves_it() -> None:
    state = State()
    state.replace("state", torch.tensor([[1.0], [2.0], [3.0]]))
    state.replace("state", torch.tensor([[10.0], [20.0], [30.0]]))
    state.append("keys", torch.tensor([[1], [2], [3]]))
    state.select(torch.tensor([2, 0, 0]))
    assert state.newest["state"].tolist() == [[30.0], [10.0], [10.0]]
    state.select(torch.tensor([1]))
    assert state.newest["state"].tolist() == [[10.0]]
    assert state.hypotheses["keys"].tolist() == [[1]]


def test_retain_leaves_replaced_entries() -> None:
    state = State()
    state.replace("state", torch.tensor([[1.0], [2.0]]))
    state.retain(torch.tensor([1]))
    assert state.newest["state"].tolist() == [[1.0], [2.0]]


def test_steps_are_joined_when_shown() -> None:
    look = Looking()
    steps = Steps(look)
    for t in range(3):
        steps.see("decoder.cross", "weights", torch.full((1, 1, 1, 2), float(t)))
        steps.see("decoder.cross", "key", torch.ones(1, 1, 2, 4))
    assert look.seen == {}
    steps.show()
    assert look.seen["decoder.cross", "key"].shape == (1, 1, 2, 4), "the same at every step"
    assert look.seen["decoder.cross", "weights"].tolist() == [[[[0, 0], [1, 1], [2, 2]]]]


def test_steps_pass_changes_to_the_watcher() -> None:
    value = torch.ones(1, 1, 2, 3)
    assert_close(Steps(Silencing(1)).change("decoder.cross", "heads", value), value * torch.tensor([[1.0], [0.0]]))


def test_once_makes_its_entry_once() -> None:
    state, made = State(), []

    def make() -> torch.Tensor:
        made.append(1)
        return torch.ones(2)

    assert state.once("keys", make) is state.once("keys", make)
    assert made == [1]


def test_select_moves_hypotheses_and_leaves_sentences() -> None:
    state = State()
    state.append("keys", torch.tensor([[10], [20], [30]]))
    state.once("memory", lambda: torch.tensor([[7], [8]]))
    state.select(torch.tensor([2, 2, 0]))
    assert state.hypotheses["keys"].tolist() == [[30], [30], [10]]
    assert state.sentences["memory"].tolist() == [[7], [8]]


def test_retain_keeps_sentences_and_leaves_hypotheses() -> None:
    state = State()
    state.append("keys", torch.tensor([[10], [20], [30]]))
    state.once("memory", lambda: torch.tensor([[7], [8], [9]]))
    state.retain(torch.tensor([2, 0]))
    assert state.sentences["memory"].tolist() == [[9], [7]]
    assert state.hypotheses["keys"].tolist() == [[10], [20], [30]]

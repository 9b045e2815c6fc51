"""The model: what it reads, what it keeps, what it counts."""

import pytest
import torch
from torch.testing import assert_close

from tests.models.tiny import tiny
from tests.pairs import pair_batch
from tests.parts.watchers import Looking
from weft.data.codecs.subwords import END, PAD, START
from weft.parts.call import Call, State

SOURCE = torch.tensor([[7, 8, 9, END], [5, END, PAD, PAD]])
TARGET = torch.tensor([[6, END, PAD], [4, 5, END]])


def test_special_tokens_are_the_first_ids() -> None:
    assert (PAD, START, END) == (0, 1, 2)


def test_memory_marks_what_is_not_padding() -> None:
    memory = tiny().encode(SOURCE)
    assert memory.output.shape == (2, 4, 8)
    assert memory.keep.tolist() == [[True, True, True, True], [True, True, False, False]]


def test_each_token_is_predicted_from_those_before_it() -> None:
    """The decoder reads the start and all but the last token; padding is not counted."""
    model = tiny()
    read = torch.tensor([[START, 6, END], [START, 4, 5]])
    log_probs = model.head.log_probs(model.decode(read, model.encode(SOURCE)))
    wanted = [(0, 0, 6), (0, 1, END), (1, 0, 4), (1, 1, 5), (1, 2, END)]
    loss = model(pair_batch(SOURCE, TARGET))
    assert_close(loss.nll, -sum(log_probs[at] for at in wanted).detach())
    assert loss.count == 5


def test_objective_is_smoothed_by_the_head() -> None:
    plain, smoothed = (tiny(head={"name": "tied", "smoothing": smoothing}) for smoothing in (0.0, 0.2))
    smoothed.load_state_dict(plain.state_dict())
    ours, theirs = plain(pair_batch(SOURCE, TARGET)), smoothed(pair_batch(SOURCE, TARGET))
    assert_close(ours.objective, ours.nll)
    assert_close(theirs.nll, ours.nll)
    assert theirs.objective > ours.objective


def test_limits_are_none_unless_positions_are_learned() -> None:
    assert tiny().limits == {"source": None, "target": None}
    assert tiny(position={"name": "learned", "limit": 300}).limits == {"source": 300, "target": 300}


def test_watcher_sees_every_attention_by_its_place() -> None:
    model, look = tiny(), Looking()
    model.hidden({"source": SOURCE, "target": TARGET}, Call(watch=look))
    shapes = {place: tuple(value.shape) for (place, name), value in look.seen.items() if name == "weights"}
    assert shapes == {
        "encoder.0.mix": (2, 2, 4, 4),
        "encoder.1.mix": (2, 2, 4, 4),
        "decoder.0.mix": (2, 2, 3, 3),
        "decoder.0.cross": (2, 2, 3, 4),
        "decoder.1.mix": (2, 2, 3, 3),
        "decoder.1.cross": (2, 2, 3, 4),
    }


def test_watching_a_model_changes_nothing() -> None:
    model, look = tiny(), Looking()
    watched = model.hidden({"source": SOURCE, "target": TARGET}, Call(watch=look))
    assert torch.equal(watched, model.decode(TARGET, model.encode(SOURCE)))


def test_decoding_step_by_step_equals_all_at_once() -> None:
    model, state = tiny(), State()
    memory = model.encode(SOURCE)
    calls = [Call(positions=torch.full((2, 1), t), state=state) for t in range(3)]
    steps = [model.decode(TARGET[:, t : t + 1], memory, call) for t, call in enumerate(calls)]
    assert_close(torch.cat(steps, 1), model.decode(TARGET, memory))


def test_decode_with_state_requires_positions() -> None:
    model = tiny()
    with pytest.raises(AssertionError, match="decoding with a state needs positions"):
        model.decode(TARGET[:, :1], model.encode(SOURCE), Call(state=State()))

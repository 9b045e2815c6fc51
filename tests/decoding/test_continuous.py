"""Continuous batching: whoever joins or leaves, and when, each sequence is what it would be alone."""

from typing import Any

import pytest
import torch

from weft.decoding.continuous import Continuation, Continuous, Step, greedy_together
from weft.decoding.greedy import Greedy
from weft.decoding.prompt import Prompt
from weft.decoding.sampling import Sampling
from weft.models.base import Generative
from weft.parts.call import Call, State
from weft.plans.catalogues import RELATIVE_POSITIONS
from weft.plans.presets import plan

V, END = 20, 2
TINY: dict[str, Any] = {"width": 16, "layers": 2, "mixer.heads": 2, "vocabulary": V, "dropout": 0.0}
DECODERS: dict[str, dict[str, Any]] = {
    "learned": {},
    "sinusoid": {"position": "sinusoid"},
    **{f"{name} positions": {"position": "none", "mixer.position": name} for name in RELATIVE_POSITIONS},
    "window": {"position": "sinusoid", "mixer.pattern": {"name": "window", "width": 3}},
    "shared keys": {"mixer.kv_heads": 1},
    "lstm": {"mixer": "lstm", "position": "none"},
    "gru": {"mixer": "gru", "position": "none"},
    "convolution": {"mixer": "convolution", "position": "none"},
    "dilated": {"mixer": {"name": "plain-convolution", "dilation": 2}, "position": "sinusoid"},
    "mixed": {"mixer": ["attention", "lstm"], "position": "sinusoid"},
}
PROMPTS = [[5, 6, 7, 8, 9], [3], [4, 5, 6], [11, 3, 11, 4, 12, 9, 8], [3, 4]]


def model_of(**settings: Any) -> Generative:
    known = {name: value for name, value in TINY.items() if name != "mixer.heads" or "mixer" not in settings}
    torch.manual_seed(3)
    model = plan("gpt-tiny").with_settings({**known, **settings}).build().eval()
    for parameter in model.parameters():  # nothing is symmetric, so that the tokens differ
        torch.nn.init.normal_(parameter, std=0.5)
    assert isinstance(model, Generative)
    return model


def continuation(prompt: list[int], limit: int = 8, **options: Any) -> Continuation:
    return Continuation([*prompt], limit, Sampling(options.pop("temperature", 0.0)), (1, *prompt), END, **options)


def written(batch: Continuous, arrivals: list[list[Continuation]] | None = None) -> dict[int, list[Step]]:
    """Run to the end; the i-th of the arrivals join before step i. The steps of each continuation, by its identity."""
    steps: dict[int, list[Step]] = {}
    for coming in arrivals or ():
        for each in coming:
            batch.add(each)
        for step in batch.step():
            steps.setdefault(id(step.continuation), []).append(step)
    while len(batch):
        for step in batch.step():
            steps.setdefault(id(step.continuation), []).append(step)
    return steps


def alone(model: Generative, prompt: list[int], context: int | None = None, **options: Any) -> list[Step]:
    one = continuation(prompt, **options)
    return written(Continuous([model], context), [[one]])[id(one)]


def same(ours: list[Step], theirs: list[Step]) -> None:
    assert [step.token for step in ours] == [step.token for step in theirs]
    assert [step.finish for step in ours] == [step.finish for step in theirs]
    assert [step.log_prob for step in ours] == pytest.approx([step.log_prob for step in theirs], abs=1e-4)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("kind", DECODERS)
def test_joined_is_alone(kind: str, temperature: float) -> None:
    """Prompts of different lengths that join at different times, and leave at different times."""
    model = model_of(**DECODERS[kind])
    each = [continuation(prompt, 4 + 2 * i, temperature=temperature) for i, prompt in enumerate(PROMPTS)]
    found = written(Continuous([model], None), [each[:2], [], each[2:3], each[3:4], [], [], each[4:]])
    for i, one in enumerate(each):
        same(found[id(one)], alone(model, PROMPTS[i], limit=4 + 2 * i, temperature=temperature))


def test_alone_is_greedy_search() -> None:
    model = model_of()
    for prompt in PROMPTS:
        [[hypothesis]] = Greedy()([model], Prompt({}, torch.tensor([prompt]), [8], END))
        steps = alone(model, prompt)
        assert tuple(step.token for step in steps) == hypothesis.ids
        assert [step.log_prob for step in steps] == pytest.approx(hypothesis.log_probs, abs=1e-4)
        assert (steps[-1].finish == "stop") == hypothesis.finished


def test_together_is_each_alone() -> None:
    model = model_of()
    prompts = [Prompt({}, torch.tensor([prompt]), [8], END) for prompt in PROMPTS]
    for found, prompt in zip(greedy_together([model], prompts), prompts, strict=True):
        [[one]] = Greedy()([model], prompt)
        assert (found.ids, found.finished) == (one.ids, one.finished)
        assert found.log_probs == pytest.approx(one.log_probs, abs=1e-4)


def test_the_end_token_ends_and_the_limit_cuts() -> None:
    model = model_of()
    bias = Sampling(0.0, logit_bias=((END, 100.0),))
    one = Continuation([3], 8, bias, (1,), END)
    [step] = written(Continuous([model], None), [[one]])[id(one)]
    assert (step.token, step.finish) == (END, "stop")
    never = Continuation([3], 3, bias, (1,), None)
    steps = written(Continuous([model], None), [[never]])[id(never)]
    assert [(step.token, step.finish) for step in steps] == [(END, None), (END, None), (END, "length")]


def test_alternatives_are_the_likeliest_tokens() -> None:
    model = model_of()
    two, none = continuation([3, 4], alternatives=2), continuation([5, 6])
    found = written(Continuous([model], None), [[two, none]])
    log_probs = model.head.log_probs(model.decode(torch.tensor([[3, 4]]), None, Call())[0, -1])
    values, ids = log_probs.topk(2)
    first = found[id(two)][0]
    assert [token for token, _ in first.top] == ids.tolist()
    assert [value for _, value in first.top] == pytest.approx(values.tolist(), abs=1e-4)
    assert first.token == ids[0]
    assert all(step.top == () for step in found[id(none)])


def test_dropping_a_sequence_leaves_the_others_unchanged() -> None:
    model = model_of()
    batch, each = Continuous([model], None), [continuation(prompt) for prompt in PROMPTS[:3]]
    for one in each:
        batch.add(one)
    batch.step()
    waiting = continuation(PROMPTS[3])
    batch.add(waiting)
    batch.drop([each[1], waiting])
    assert len(batch) == 2
    written(batch)
    assert (len(each[1].written), waiting.written) == (1, [])
    for i in (0, 2):
        assert each[i].written == [step.token for step in alone(model, PROMPTS[i])]


def test_a_full_context_slides_to_its_last_half() -> None:
    """The naive loop: whenever the context is full, the last half of it is read afresh."""
    model, context, seen, tokens = model_of(), 6, [3, 4, 5], [3, 4, 5]
    for _ in range(10):
        hidden = model.decode(torch.tensor([seen]), None, Call())[0, -1]
        tokens.append(int(model.head.log_probs(hidden).argmax()))
        seen = [*seen, tokens[-1]] if len(seen) < context else tokens[-context // 2 :]
    one = Continuation([3, 4, 5], 10, Sampling(0.0), (1,), None)
    other = Continuation([7], 3, Sampling(0.0), (1,), None)
    written(Continuous([model], context), [[one], [other]])
    assert one.tokens == tokens
    assert one.has_slid
    assert not other.has_slid


def test_a_long_prompt_is_read_from_its_last_half_of_a_context() -> None:
    model = model_of()
    one = Continuation([3, 4, 5, 6, 7, 8, 9], 1, Sampling(0.0), (1,), None)
    written(Continuous([model], 4), [[one]])
    short = Continuation([8, 9], 1, Sampling(0.0), (1,), None)
    written(Continuous([model], 4), [[short]])
    assert one.has_slid
    assert one.written == short.written


def test_the_same_seed_draws_the_same() -> None:
    model = model_of()
    draws = {
        seed: [step.token for step in written(Continuous([model], None), [[one]])[id(one)]]
        for seed in (1, 2, 3)
        for one in [Continuation([3], 8, Sampling(1.0), (seed,), None)]
    }
    again = Continuation([3], 8, Sampling(1.0), (1,), None)
    written(Continuous([model], None), [[again]])
    assert again.written == draws[1]
    assert len({tuple(tokens) for tokens in draws.values()}) > 1


# The state, by hand.


def state(rows: list[list[float]], **newest: list[list[float]]) -> State:
    """A state that remembers so many steps of each row: (R, steps, 1)."""
    made = State()
    values = torch.tensor(rows)[..., None]
    for i in range(values.size(1)):
        made.append("k", values[:, i : i + 1])
    for name, value in newest.items():
        made.replace(name, torch.tensor(value))
    return made


def test_the_shorter_past_is_padded_on_the_left() -> None:
    one, other = state([[1, 2, 3]]), state([[7], [8]])
    one.join(other)
    assert one.hypotheses["k"][..., 0].tolist() == [[1, 2, 3], [0, 0, 7], [0, 0, 8]]
    assert one.padding is not None
    assert one.padding.tolist() == [0, 2, 2]
    assert one.real(3).tolist() == [[True] * 3, [False, False, True], [False, False, True]]  # type: ignore[union-attr]
    assert one.append("k", torch.tensor([4.0, 9.0, 9.0])[:, None, None])[..., 0].tolist() == [
        [1, 2, 3, 4],
        [0, 0, 7, 9],
        [0, 0, 8, 9],
    ]


def test_padding_that_all_rows_have_is_dropped() -> None:
    one = state([[1, 2, 3]])
    one.join(state([[7], [8]]))
    one.select(torch.tensor([2, 1]))
    assert one.hypotheses["k"][..., 0].tolist() == [[8], [7]]
    assert one.padding is not None
    assert one.padding.tolist() == [0, 0]


def test_a_longer_past_joins_a_shorter_one() -> None:
    one = state([[7]], s=[[1.0, 2.0]])
    one.join(state([[1, 2, 3]], s=[[3.0, 4.0]]))
    assert one.hypotheses["k"][..., 0].tolist() == [[0, 0, 7], [1, 2, 3]]
    assert one.newest["s"].tolist() == [[1, 2], [3, 4]]


def test_a_window_of_the_last_steps_is_padded_too() -> None:
    one, other = State(), State()
    one.replace("w", torch.tensor([[[1.0], [2.0]]]))  # (R, steps, features)
    other.replace("w", torch.tensor([[[5.0]]]))
    one.join(other)
    assert one.newest["w"][..., 0].tolist() == [[1, 2], [0, 5]]

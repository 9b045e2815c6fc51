"""Language models: rows of a text, cut or whole, predict each token once, and no start of a document."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.tasks.texts import BYTES, CHARACTERS, TEXT, generator
from weft.data.codecs.symbols import END, START
from weft.data.corpus import Corpus
from weft.data.documents import Passage
from weft.errors import WeftError
from weft.models.base import IGNORED
from weft.plans.presets import plan
from weft.tasks.language_model import LanguageModel, next_tokens
from weft.training.workers import ALONE

CODECS = {"tokeniser": CHARACTERS}
TASK = LanguageModel()


def ids(text: str) -> list[int]:
    return CHARACTERS.pieces_of([text])[0]


def rows(examples: list[Passage], longest: int | None) -> list[list[int]]:
    return [row[0] for some, _ in TASK.encode(examples, CODECS, longest) for row in some]


def test_documents_begin_with_the_start_and_end_with_the_end() -> None:
    assert rows([Passage("to"), Passage("be")], None) == [[START, *ids("to"), END], [START, *ids("be"), END]]


def test_passages_of_a_document_follow_each_other() -> None:
    parts = [Passage("to", True, False), Passage(" b", False, False), Passage("e", False, True)]
    assert rows(parts, None) == [[START, *ids("to")], ids(" b"), [*ids("e"), END]]


@pytest.mark.parametrize("longest", [1, 2, 3, 7, 100])
def test_cut_rows_predict_each_token_once(longest: int) -> None:
    examples = [Passage("to be"), Passage(""), Passage("or not to be")]
    stream = [i for row in rows(examples, None) for i in row]
    found = rows(examples, longest)
    assert all(len(row) == longest + 1 for row in found[:-1])
    assert [i for row in found for i in row[1:]] == stream[1:]
    assert [row[0] for row in found] == stream[:-1:longest]


def test_the_next_token_is_the_target() -> None:
    batch = next_tokens([ids("to be"), ids("or")], CHARACTERS.special)
    assert batch.inputs["tokens"].tolist() == [ids("to b"), [*ids("or"), 0, 0]]
    assert batch.targets.tolist() == [ids("o be"), [*ids("r"), *[IGNORED] * 3]]
    assert batch.count == 5


def test_the_start_of_a_document_is_no_target() -> None:
    batch = next_tokens([[*ids("t"), END, START, *ids("o"), END]], CHARACTERS.special)
    assert batch.targets.tolist() == [[END, IGNORED, *ids("o"), END]]


def test_padding_changes_nothing(tmp_path: Path) -> None:
    model = generator(tmp_path / "model").models[0]
    random = np.random.default_rng(1)
    some = [(ids("to be, or"),), (ids("is"),), (ids("that"),)]
    with torch.inference_mode():
        whole = model(TASK.collate(some, CODECS, random))
        parts = [model(TASK.collate([row], CODECS, random)) for row in some]
    assert float(whole.objective) == pytest.approx(sum(float(part.objective) for part in parts), rel=1e-5)
    assert int(whole.count) == sum(int(part.count) for part in parts) == 8 + 1 + 3


def test_validation_is_the_mean_over_tokens(tmp_path: Path) -> None:
    found = generator(tmp_path / "model")
    model = found.models[0].train()
    stored = Corpus.write(tmp_path / "valid", TASK.columns, TASK.encode([Passage(TEXT)], CODECS, 8), len(CHARACTERS))
    scores = TASK.validate(model, stored, CODECS, ALONE)
    assert model.training
    model.eval()
    total, count = 0.0, 0
    for row in rows([Passage(TEXT)], 8):
        clear = found.log_probs(row[:-1])
        total -= sum(float(clear[i, row[i + 1]]) for i in range(len(row) - 1))
        count += len(row) - 1
    assert count == len(TEXT) + 1, "the end too"
    assert scores == {
        "loss": pytest.approx(total / count, rel=1e-4),
        "perplexity": pytest.approx(math.exp(total / count), rel=1e-4),
    }


def test_prompts_of_one_document_have_no_start() -> None:
    assert TASK.facts([Passage("a", True, False), Passage("b", False, True)], None) == {"starts": False}
    assert TASK.facts([Passage("a"), Passage("b")], None) == {"starts": True}


def test_the_last_tenth_is_held_out() -> None:
    learned, valid, remark = TASK.hold_out([("a" * 95,), ("b" * 5,)])  # type: ignore[arg-type]
    assert [each.text for each in learned] == ["a" * 90]
    assert [each.text for each in valid] == ["a" * 5, "b" * 5]
    assert remark == "no --valid: the last 10 of 100 characters are held out for validation"


def test_records_without_a_text(tmp_path: Path) -> None:
    file = tmp_path / "bodies.jsonl"
    file.write_text('{"body": "red"}\n' * 3)
    with pytest.raises(WeftError) as caught:
        TASK.hold_out(TASK.read([file]))
    assert str(caught.value) == f'no text to train on: a record of JSONL needs a "text" ({file}: 3 without).'


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"codec": "characters", "vocabulary": 3}, "vocabulary: codec characters needs at least 4, got 3."),
        ({"codec": "bytes", "vocabulary": 259}, "vocabulary: codec bytes needs at least 260, got 259."),
        (
            {"codec": "wrods"},
            "codec: task language-model needs subwords or bytes or characters or words or public, got wrods. "
            "Did you mean 'words'?",
        ),
        ({"batching": "shuffled"}, "training.batching: task language-model needs blocks, got shuffled."),
    ],
)
def test_plans_that_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(WeftError) as caught:
        TASK.check(plan("gpt-tiny").with_settings(settings))
    assert str(caught.value) == sentence


def test_an_encoder_decoder_is_no_language_model() -> None:
    with pytest.raises(WeftError, match="model: task language-model needs decoder, got encoder-decoder"):
        TASK.check(plan("transformer-tiny").with_settings({"task": "language-model"}))


def test_codecs_are_learned_as_the_plan_says() -> None:
    for name in ("characters", "words", "bytes", "subwords"):
        recipe = plan("gpt-tiny").with_settings({"codec": name, "vocabulary": 261})
        [codec] = TASK.learn([(TEXT * 5,)], recipe).values()  # type: ignore[list-item]
        assert codec.name == name
    assert len(BYTES) == 262


def test_the_model_reads_left_to_right(tmp_path: Path) -> None:
    found = generator(tmp_path / "model")
    one, other = found.log_probs(ids("to be")), found.log_probs(ids("to or"))
    assert torch.allclose(one[:3], other[:3], atol=1e-5)
    assert not torch.allclose(one[3:], other[3:], atol=1e-2)

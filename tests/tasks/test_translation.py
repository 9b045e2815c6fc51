"""Translation: validation is the loss of a token without smoothing, its perplexity, and BLEU of what greedy search
finds; in the end the head that aligns words is noted."""

import math
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from tests.pairs import prompt
from tests.training.tiny import reversed_letters, tiny_plan, tiny_trainer
from weft.data.batches import pad
from weft.data.codecs.subwords import START, Subwords
from weft.data.corpus import PAIR, Corpus
from weft.decoding import Greedy
from weft.errors import WeftError
from weft.evaluation.scores import bleu
from weft.models.base import Model
from weft.plans import plan
from weft.tasks.translation import Translation
from weft.tasks.translator import Translator
from weft.training.run import begin
from weft.training.workers import ALONE

TEXTS = reversed_letters(10)
TOKENISER = Subwords.train((text for pair in TEXTS for text in pair), 264)
CODECS = {"tokeniser": TOKENISER}
PAIRS = [(TOKENISER.encode(source), TOKENISER.encode(target)) for source, target in TEXTS]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus.write(tmp_path / "valid", PAIR, Translation().encode(TEXTS, CODECS, None), len(TOKENISER))


def validate(model: Model, corpus: Corpus) -> dict[str, float]:
    return Translation().validate(model, corpus, CODECS, ALONE)


def test_loss_is_the_mean_over_tokens_without_smoothing(corpus: Corpus) -> None:
    model = tiny_plan(dropout=0.5).build().eval()
    total = 0.0
    for source, target in PAIRS:
        with torch.no_grad():
            hidden = model.decode(torch.tensor([[START, *target[:-1]]]), model.encode(torch.tensor([source])))
            total += F.cross_entropy(model.head.logits(hidden[0]), torch.tensor(target), reduction="sum").item()
    expected = total / sum(len(target) for _, target in PAIRS)
    scores = validate(model, corpus)
    assert scores["loss"] == pytest.approx(expected, rel=1e-5)
    assert scores["perplexity"] == pytest.approx(math.exp(expected), rel=1e-5)


def test_bleu_is_of_greedy_search(corpus: Corpus) -> None:
    model = tiny_plan().build().eval()
    found = Greedy()([model], prompt([model], pad([source for source, _ in PAIRS])))
    texts = [TOKENISER.decode(hypotheses[0].ids) for hypotheses in found]
    expected = bleu(texts, [target for _, target in TEXTS]).value
    assert validate(model, corpus)["bleu"] == pytest.approx(expected)


def test_validation_switches_dropout_off_and_training_back_on(corpus: Corpus) -> None:
    model = tiny_plan(dropout=0.5).build().train()
    assert validate(model, corpus) == validate(model, corpus)
    assert model.training
    assert all(module.training for module in model.modules())


def test_finish_notes_the_aligning_head(tmp_path: Path) -> None:
    """The one chosen on the validation pairs, beside the facts that were there."""
    valid = reversed_letters(6, seed=2)
    folder = begin(tiny_plan(steps=1), TEXTS, valid, tmp_path / "run", languages=("en", "de"))
    tiny_trainer(folder).train()
    Translation().finish(folder)
    chosen = Translator([folder]).choose_aligner(valid)
    assert chosen.layer == 1
    assert folder.about() == {"languages": ["en", "de"], "aligner": asdict(chosen)}


def test_finish_notes_nothing_without_cross_attention(tmp_path: Path) -> None:
    recipe = plan("bytenet-tiny").with_settings({"width": 8, "vocabulary": 264, "steps": 1, "average_of": 1})
    folder = begin(recipe, TEXTS, TEXTS, tmp_path / "run", languages=("en", "de"))
    tiny_trainer(folder).train()
    Translation().finish(folder)
    assert folder.about() == {"languages": ["en", "de"]}


def test_vocabulary_holds_all_bytes() -> None:
    with pytest.raises(WeftError) as caught:
        Translation().check(plan("transformer-tiny").with_settings({"vocabulary": 259}))
    assert str(caught.value) == "vocabulary: expected at least 260 (256 bytes and 4 special tokens), got 259."

"""The demo's task, cut short: what a Transformer learns of dates in a fixed number of steps."""

from pathlib import Path

import pytest

from weft.plans.presets import plan
from weft.text.dates import make_dates
from weft.training.run import begin, trainer

SHORT = {"width": 48, "feed_forward.hidden": 96, "steps": 150, "validate_every": 150, "schedule.warmup": 30}


@pytest.fixture(scope="module")
def losses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """Validation loss after the same steps, by the position part."""
    pairs = make_dates(train_pairs=20_000)
    found = {}
    for position in ("sinusoid", "learned", "none"):
        recipe = plan("dates").with_settings({**SHORT, "position": position})
        out: Path = tmp_path_factory.mktemp("dates") / position
        found[position] = trainer(begin(recipe, pairs.train, pairs.valid, out)).train()["loss"]
    return found


def test_positions_beat_a_bag_of_tokens(losses: dict[str, float]) -> None:
    """Without positions the encoder cannot tell 03.05. from 05.03."""
    assert losses["sinusoid"] < 0.8 * losses["none"]
    assert losses["learned"] < 0.8 * losses["none"]

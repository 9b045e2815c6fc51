"""The demo's task, cut short: what a Transformer learns of dates in a fixed number of steps."""

from pathlib import Path

from weft.plans.presets import plan
from weft.samples.dates import make_dates
from weft.training.run import begin, trainer

SHORT = {"width": 64, "feed_forward.hidden": 128, "steps": 300, "validate_every": 300, "schedule.warmup": 50}


def test_positions_beat_a_bag_of_tokens(tmp_path: Path) -> None:
    """After the same steps. Without positions the encoder cannot tell 03.05. from 05.03."""
    pairs = make_dates(train_pairs=20_000)
    losses = {}
    for position in ("sinusoid", "none"):
        recipe = plan("dates").with_settings({**SHORT, "position": position})
        losses[position] = trainer(begin(recipe, pairs.train, pairs.valid[:200], tmp_path / position)).train()["loss"]
    assert losses["sinusoid"] < 0.8 * losses["none"]

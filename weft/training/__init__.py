"""The loop and what belongs to it: runs, checkpoints, validation, observers."""

"""Training: runs, the loop, checkpoints, observers, several workers."""

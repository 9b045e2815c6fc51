def evaluate() -> None:
    """Not yet."""

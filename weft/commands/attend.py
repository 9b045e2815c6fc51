def attend() -> None:
    """Not yet."""

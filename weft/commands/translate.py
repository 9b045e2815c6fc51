def translate() -> None:
    """Not yet."""

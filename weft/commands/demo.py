def demo() -> None:
    """Not yet."""

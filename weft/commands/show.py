def show() -> None:
    """Not yet."""

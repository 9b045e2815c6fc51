"""Checks of what weft promises for every model. Each is a small function that measures a difference."""

"""Defaults that Python, the commands and the service share, in a module that costs nothing to import."""

BEAM_WIDTH = 5
LENGTH_PENALTY = 1.0  # the mean log-probability per token
TEMPERATURE = 0.8  # of sampling from a language model: a little more careful than the model itself

"""Decoding by other programs: an export made once for each model, checked to agree with it, and kept in the user's
cache.

Nothing here imports torch unless it computes.
"""

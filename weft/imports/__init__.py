"""Importing public weights: one file per format, one per shape.

A shape maps a configuration to a plan, and tensors to weights. What a plan cannot express is an error that names the
slot. Files are untrusted, and are checked before they are used.
"""

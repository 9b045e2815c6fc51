"""Models for other engines: one file a format, and every export is checked against the model it was made from.

An exporter refuses in words what its format cannot express, naming the slot of the plan.
"""

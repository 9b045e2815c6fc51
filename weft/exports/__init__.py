"""Models for other engines: one file per format. Every export is checked against its model.

An exporter refuses what its format cannot express, naming the slot of the plan.
"""

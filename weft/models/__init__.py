"""Whole models, made of any parts."""

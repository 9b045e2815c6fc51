"""Seeing inside: captured attention, pictures, curves."""

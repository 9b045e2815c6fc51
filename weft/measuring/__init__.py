"""Measures what plans cost on this machine: time and memory against length and width."""

"""Whole models. They receive parts and never ask which ones they hold."""

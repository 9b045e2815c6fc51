"""Parts: plain `nn.Module`s that can be built and used without plans, files or registries.

One legend of shapes for the whole package:

    B batch   S source length   T target length   D width   H heads   K head width   V vocabulary   N layers

A line that changes a shape ends with it. Parts know only torch and each other.
"""

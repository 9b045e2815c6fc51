"""The service: a model behind HTTP. One thread computes, and requests that arrive together share a batch."""

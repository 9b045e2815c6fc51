"""Evaluation: BLEU, chrF, perplexity."""

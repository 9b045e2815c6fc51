"""How good translations are: BLEU, chrF, perplexity."""

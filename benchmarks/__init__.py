"""One script a question. Each prints the numbers that stand in docs/, and how to get them again."""

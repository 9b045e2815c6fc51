"""Text in: reading files, sentences, subwords, the corpus on disk, batches."""

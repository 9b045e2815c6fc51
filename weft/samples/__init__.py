"""Sample data that weft carries along: generated dates for the demo, and a few sentences to try a translator on."""

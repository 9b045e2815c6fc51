"""Sample data: generated dates for the demo, and a few sentences to try a translator on."""

"""What plans cost on this machine: time and memory against length and width, and what they grow with."""

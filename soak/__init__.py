"""Attack the library for as long as you like, and count what happens: ``python -m soak``."""

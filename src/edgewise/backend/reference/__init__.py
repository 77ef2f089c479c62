"""Backend in NumPy that a student can check against the papers: the reference."""

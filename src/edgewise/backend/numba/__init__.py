"""Backend compiled by Numba: the results of the reference, much faster."""

"""Factor models: matrix factorization, truncated SVD, non-negative and implicit factorization."""

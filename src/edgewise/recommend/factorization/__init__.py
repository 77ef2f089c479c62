"""Factor models: matrix factorisation, truncated SVD, non-negative and implicit factorisation."""

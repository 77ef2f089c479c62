"""Boosted factorization: products of user values and item values, learned round by round."""

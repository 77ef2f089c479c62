"""Evaluation of recommenders: one model on test ratings, or many over folds in one table."""

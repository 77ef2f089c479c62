"""Metrics: how wrong predictions are."""

from edgewise.metrics.classification import (
    ON_PROBABILITIES,
    ON_SCORES,
    error,
    hamming_loss,
    log_loss,
    predicted,
)

__all__ = ["ON_PROBABILITIES", "ON_SCORES", "error", "hamming_loss", "log_loss", "predicted"]

"""From scores to probabilities (Iyer 1999, eq. 3.6)."""

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from edgewise.common.dtypes import Reals


def probabilities(scores: Reals, offsets: Reals, multilabel: bool, scale: float = 2.0) -> Reals:
    """Return probabilities for scores of shape (n, K).

    Parameters
    ----------
    scores : array of shape (n, K)
        Each estimates a share of the log-odds of its label under the initial weights.
    offsets : array of shape (K,)
        What the initial weights add to the log-odds.
    multilabel : bool
        Whether each label has a probability of its own. Otherwise they sum to 1 over the classes.
    scale : float, default 2.0
        What scores are multiplied by to be log-odds: 2 for the exponential loss, 1 for the
        logistic one.

    Examples
    --------
    >>> import numpy as np
    >>> probabilities(np.array([[0.0], [1.0]]), np.zeros(1), False).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """
    log_odds = scale * scores - offsets
    if multilabel:
        return expit(log_odds)
    if scores.shape[1] == 1:
        positive = expit(log_odds)
        return np.hstack([1 - positive, positive])
    # In logarithms, so that rows far from every class still have probabilities.
    logs = log_expit(log_odds)
    return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))

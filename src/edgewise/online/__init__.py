"""Online learning with a pool of experts: weighted majority and Hedge, with their bounds.

Experts are anything that gives advice round by round: classifiers, recommenders, people. The bounds
assume nothing about them or about the sequence of rounds.
"""

from edgewise.online.bounds import loss_bound, mistake_bound, tuned_beta, tuned_loss_bound
from edgewise.online.hedge import Hedge
from edgewise.online.majority import WeightedMajority

__all__ = [
    "Hedge",
    "WeightedMajority",
    "loss_bound",
    "mistake_bound",
    "tuned_beta",
    "tuned_loss_bound",
]

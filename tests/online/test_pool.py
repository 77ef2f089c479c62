"""What both learners share: parameters, the state before the first round, and refused rounds."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from edgewise.online import Hedge, WeightedMajority

CASES = [
    (Hedge(learning_rate=0.2, prior=[1, 2]), ([[0.0, 1.0]],), ([[0.0, 1.0], [0.0, 2.0]],)),
    (WeightedMajority(0.7, random_state=3), ([[1, -1]], [1]), ([[1, 1], [1, 1]], [1, 7])),
]


@pytest.mark.parametrize(("learner", "rounds", "wrong"), CASES)
def test_life_of_a_learner(learner, rounds, wrong):
    learner = clone(learner)
    for ask in (lambda: learner.weights_, lambda: learner.log_weights_, learner.bound):
        with pytest.raises(NotFittedError, match="start"):
            ask()
    with pytest.raises(ValueError, match=r"losses|outcomes"):
        learner.run(*wrong)
    learner.run(*rounds)
    before = learner.weights_
    with pytest.raises(ValueError, match=r"losses|outcomes"):
        learner.run(*wrong)
    np.testing.assert_array_equal(learner.weights_, before)
    assert learner.n_rounds_ == 1
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(learner)).weights_, before)
    assert not hasattr(clone(learner), "weights_")
    assert learner.start(2).n_rounds_ == 0
    assert learner.bound() >= 0

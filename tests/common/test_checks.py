"""Arguments that are wrong: errors name the argument, what is allowed and what it was."""

import math

import numpy as np
import pytest

from edgewise.common import checks


@pytest.mark.parametrize(
    ("check", "value", "error", "words"),
    [
        (lambda v: checks.integer("n", v, 1), 0, ValueError, "an integer of at least 1, got 0"),
        (lambda v: checks.integer("n", v, 1, 3), 4, ValueError, "an integer from 1 to 3, got 4"),
        (lambda v: checks.integer("n", v, 1), True, TypeError, "an integer of at least 1"),
        (lambda v: checks.positive("n", v), 0, ValueError, "a positive number, got 0"),
        (lambda v: checks.positive("n", v), math.inf, ValueError, "a positive number, got inf"),
        (lambda v: checks.positive("n", v, 2.0), 2, ValueError, "above 0 and below 2, got 2"),
        (lambda v: checks.up_to_one("n", v), 1.5, ValueError, "above 0 and at most 1, got 1.5"),
        (lambda v: checks.up_to_one("n", v), math.nan, ValueError, "above 0 and at most 1"),
        (lambda v: checks.between("n", v, -1, 1), -2, ValueError, "a number from -1 to 1, got -2"),
        (lambda v: checks.not_negative("n", v), -1, ValueError, "a number of at least 0, got -1"),
        (lambda v: checks.not_negative("n", v), "1", TypeError, "a number of at least 0, got '1'"),
        (lambda v: checks.threads("n", v), 0, ValueError, "not be 0: use 1 for one thread"),
        (lambda v: checks.threads("n", v), 0.5, TypeError, "None or an integer other than 0"),
        (lambda v: checks.one_of("n", v, "ab"), "c", ValueError, "one of 'a', 'b', got 'c'"),
        (lambda v: checks.flag("n", v), 1, TypeError, "True or False, got 1"),
        (lambda v: checks.numbers("n", v), ["a"], TypeError, "hold real numbers, got an array of"),
        (lambda v: checks.numbers("n", v), [[1]], ValueError, r"1-D, got an array of shape \(1, 1"),
        (lambda v: checks.signs("n", v, 1), [1, 0], ValueError, r"only \(-1, 1\), got 0"),
    ],
)
def test_errors(check, value, error, words):
    with pytest.raises(error, match=f"n must .*{words}"):
        check(value)


def test_right_values_come_back_in_one_type():
    assert checks.integer("n", np.int8(10), 1) == 10
    assert checks.not_negative("n", 0) == 0.0
    assert checks.up_to_one("n", 1) == checks.between("n", 1, 0, 1) == 1.0
    assert (checks.threads("n", -1), checks.threads("n", None)) == (-1, None)
    assert checks.flag("n", np.True_) is True
    assert checks.numbers("n", [1, 2.5]).tolist() == [1.0, 2.5]
    assert checks.signs("n", [1, 0], 1, zero=True).dtype == np.int8


def test_an_argument_error_holds_its_parts():
    error = checks.ArgumentError("target", "y", "must be a column of clicks.csv")
    assert str(error) == "target='y' must be a column of clicks.csv"
    assert (error.argument, error.value, error.problem) == ("target", "y", str(error)[11:])


def test_a_seed_gives_the_same_draws_again():
    assert checks.generator(7).random() == checks.generator(7).random()
    with pytest.raises(ValueError, match="random_state must be None, an integer of at least 0"):
        checks.generator(-1)

"""What notebooks show of a model."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

from edgewise import (
    AdaBoostMH,
    BoostedFactorization,
    ItemKNN,
    MatrixFactorization,
    RankBoost,
    RankFusion,
    Ratings,
)
from edgewise.fusion import RankedLists

EVIL = "<script>alert('a & b')</script>"


class Tags(HTMLParser):
    """The text of a page, whose tags must be closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.text = [], set(), ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in ("br", "input", "meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def summary(model):
    """Return what is below scikit-learn's diagram, and check that both ways to ask for it agree."""
    page = model._repr_mimebundle_()["text/html"]
    _, mark, below = page.partition('<div class="edgewise-model">')
    assert model._repr_html_().partition(mark)[2] == below
    return Tags(mark + below)


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(60, 3))
    return pd.DataFrame(X, columns=["age", EVIL, "x < y"]), np.where(X[:, 1] > 0, "yes", EVIL)


@pytest.mark.parametrize("learner", ["stump", "tree"])
def test_a_classifier_shows_facts_curve_and_rules(rows, learner):
    model = AdaBoostMH(learner, n_rounds=6, eval_metric=["error", "log_loss"])
    model.fit(*rows, eval_set=rows)
    shown = summary(model)
    assert "svg" in shown.seen
    assert "script" not in shown.seen
    assert EVIL in shown.text
    for word in ("training error", "bound", "validation error", "validation log loss"):
        assert word in shown.text
    rule = model.rules(1)[0].text.split("\n")[-1]
    assert rule in shown.text


def test_unfitted_models_and_other_settings_show_what_scikit_learn_does(rows):
    for model in (AdaBoostMH(), RankBoost(), ItemKNN()):
        assert "edgewise-model" not in model._repr_mimebundle_()["text/html"]
    with config_context(display="text"):
        assert "text/html" not in AdaBoostMH(n_rounds=1).fit(*rows)._repr_mimebundle_()


def test_rankers():
    grades = [0, 1, 0, 1]
    shown = summary(RankBoost(n_rounds=4).fit([[0.0], [1.0], [2.0], [3.0]], grades))
    assert "ranking loss" in shown.text
    assert "where (x0 >= 0.5)" in shown.text
    lists = RankedLists([[1], [2], [2], [1]], qid=[1, 1, 2, 2], names=[EVIL])
    shown = summary(RankFusion(n_rounds=2).fit(lists, [1, 0, 0, 1]))
    assert f"({EVIL}: top 1)" in shown.text


def test_a_model_without_rounds_says_so():
    model = RankBoost(n_rounds=5, monotonic_cst="increasing").fit([[2.0], [1.0]], [0, 1])
    assert "no rounds" in summary(model).text


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (ItemKNN(), "8 ratings, 4 users, 3 items"),
        (MatrixFactorization(2, n_epochs=3, random_state=0), "epoch"),
        (BoostedFactorization(5, random_state=0), "training RMSE"),
    ],
    ids=lambda item: type(item).__name__,
)
def test_recommenders(model, words):
    likes = {"ann": {EVIL: 5, "Up": 1}, "bob": {EVIL: 4, "Ran": 2}, "cat": {"Up": 3, "Ran": 5},
             "dan": {EVIL: 1, "Up": 5}}  # fmt: skip
    shown = summary(model.fit(Ratings.from_dict(likes)))
    assert words in shown.text
    assert EVIL in shown.text
    assert "script" not in shown.seen


def test_losses_that_span_decades_have_a_place_for_zero():
    model = AdaBoostMH("stump", n_rounds=40).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    assert model.history_["train_error"][-1] == 0
    assert "NaN" not in model._repr_html_()
    assert "inf" not in model._repr_html_().partition("<svg viewBox")[2].partition("</svg>")[0]

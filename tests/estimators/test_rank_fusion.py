"""Fusing ranked lists: a RankBoost on the positions of documents."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from edgewise import Checkpoint, RankBoost, RankFusion, load
from edgewise.fusion import RankedLists, fuse, normalized_scores

NAMES = ("bm25", "url", "title")


def ranked(seed=0, names=NAMES, n_queries=12, n_docs=20):
    """Return lists of which the first is good, and grades of their documents."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), n_docs)
    grades = rng.integers(0, 3, len(qid))
    positions = np.full((len(qid), len(names)), np.nan)
    for j in range(len(names)):
        for query in range(n_queries):
            rows = np.flatnonzero(qid == query)
            noise = rng.normal(size=n_docs) * (0.7 if j == 0 else 3.0)
            best = rows[np.argsort(-(grades[rows] + noise))][:14]
            positions[best, j] = np.arange(1, 15)
    docs = np.array([f"d{i}" for i in range(len(qid))])
    return RankedLists(positions, qid, docs=docs, names=names), grades


@pytest.mark.parametrize(
    "settings",
    [{}, {"missing": "low", "monotonic_cst": "increasing"}, {"criterion": "energy"},
     {"validation_fraction": 0.3, "early_stopping_rounds": 3}, {"objective": "map"}],
    ids=str,
)  # fmt: skip
def test_it_is_rank_boost_on_the_positions(settings):
    lists, grades = ranked()
    model = RankFusion(n_rounds=15, random_state=0, **settings).fit(lists, grades)
    ranker = RankBoost("stump", n_rounds=15, random_state=0, **settings)
    ranker.fit(-lists.positions, grades, lists.qid)
    np.testing.assert_array_equal(model.predict(lists), ranker.predict(-lists.positions))
    np.testing.assert_array_equal(model.rank(lists), ranker.rank(-lists.positions, lists.qid))
    assert model.score(lists, grades) == ranker.score(-lists.positions, grades, lists.qid)
    assert model.n_rounds_ == ranker.n_rounds_
    assert model.history_.to_array().tobytes() == ranker.history_.to_array().tobytes()
    stages = list(model.staged_predict(lists))
    np.testing.assert_allclose(stages[-1], model.predict(lists), atol=1e-12)


def test_it_has_a_ranker_and_is_none():
    lists, grades = ranked()
    model = RankFusion(n_rounds=5).fit(lists, grades)
    assert isinstance(model.ranker_, RankBoost)
    assert not isinstance(model, RankBoost)
    assert not hasattr(model, "fit_pairs")
    assert model.list_names_ == NAMES
    assert model.fitted_ is model.ranker_.fitted_


def test_a_list_may_have_a_direction_by_name():
    lists, grades = ranked()

    def rises(model):
        """Return whether any position on the first list adds to the score."""
        rules = [model.fitted_.terms.rule(t) for t in range(model.n_rounds_)]
        moves = model.fitted_.terms.coefficients[:, 0]
        first = [rule.column == 0 and np.isfinite(rule.threshold) for rule in rules]
        return bool((moves[first] > 0).any())

    assert rises(RankFusion(n_rounds=40).fit(lists, grades))
    assert not rises(RankFusion(n_rounds=40, monotonic_cst={"bm25": -1}).fit(lists, grades))
    with pytest.raises(ValueError, match=r"monotonic_cst.*'x0'"):
        RankFusion(monotonic_cst={"x0": 1}).fit(lists, grades)


def test_lists_are_matched_by_name():
    lists, grades = ranked()
    model = RankFusion(n_rounds=10).fit(lists, grades)
    turned = RankedLists(lists.positions[:, ::-1], lists.qid, names=NAMES[::-1])
    np.testing.assert_array_equal(model.predict(turned), model.predict(lists))
    alone = RankedLists(lists.positions[:, :1], lists.qid, names=NAMES[:1])
    absent = np.column_stack([lists.positions[:, 0], *[np.full(len(lists), np.nan)] * 2])
    same = RankedLists(absent, lists.qid, names=NAMES)
    np.testing.assert_array_equal(model.predict(alone), model.predict(same))
    strange = RankedLists(lists.positions, lists.qid, names=("bm25", "url", "body"))
    with pytest.raises(ValueError, match=r"lists has the list 'body'"):
        model.predict(strange)
    with pytest.raises(ValueError, match=r"eval_set has the list 'body'"):
        RankFusion().fit(lists, grades, eval_set=(strange, grades))


def test_checkpoints_hold_the_fusion_and_go_on(tmp_path):
    lists, grades = ranked()
    path = tmp_path / "model"
    model = RankFusion(n_rounds=6, callbacks=[Checkpoint(path, every=2)]).fit(lists, grades)
    saved = load(path)
    assert type(saved) is RankFusion
    assert saved.list_names_ == NAMES
    np.testing.assert_array_equal(saved.predict(lists), model.predict(lists))
    saved.set_params(n_rounds=12, warm_start=True).fit(lists, grades)
    full = RankFusion(n_rounds=12).fit(lists, grades)
    np.testing.assert_array_equal(saved.predict(lists), full.predict(lists))


def test_a_warm_start_takes_lists_in_any_order():
    lists, grades = ranked()
    turned = RankedLists(lists.positions[:, ::-1], lists.qid, names=NAMES[::-1])
    model = RankFusion(n_rounds=6, warm_start=True).fit(lists, grades)
    model.set_params(n_rounds=12).fit(turned, grades)
    assert model.list_names_ == NAMES
    full = RankFusion(n_rounds=12).fit(lists, grades)
    np.testing.assert_array_equal(model.predict(lists), full.predict(lists))


def test_a_fit_that_fails_changes_nothing():
    lists, grades = ranked()
    model = RankFusion(n_rounds=4).fit(lists, grades)
    before = model.predict(lists)
    with pytest.raises(ValueError, match="two documents of different grades"):
        model.fit(lists, np.zeros(len(grades)))
    np.testing.assert_array_equal(model.predict(lists), before)


def test_it_is_cloned_and_pickled():
    lists, grades = ranked()
    model = RankFusion(n_rounds=4, missing="low").fit(lists, grades)
    unpickled = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(unpickled.predict(lists), model.predict(lists))
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    for ask in (fresh.predict, fresh.rank, fresh.fuse):
        with pytest.raises(NotFittedError):
            ask(lists)
    with pytest.raises(NotFittedError):
        fresh.rules()


def test_settings_that_change_after_the_fit_reach_the_ranker():
    lists, grades = ranked()
    model = RankFusion(n_rounds=4).fit(lists, grades).set_params(n_jobs=2)
    assert model.ranker_.n_jobs == 2


class TestValues:
    def test_reciprocal_ranks_are_those_of_the_values_themselves(self):
        lists, grades = ranked()
        model = RankFusion("feature", n_rounds=5).fit(lists, grades)
        reciprocal = 1 / (60 + lists.positions)
        ranker = RankBoost("feature", n_rounds=5, objective="map")
        ranker.fit(reciprocal, grades, lists.qid)
        np.testing.assert_array_equal(model.predict(lists), ranker.predict(reciprocal))
        np.testing.assert_array_equal(model.coef_, ranker.coef_)
        assert model.values_ == ("reciprocal",)
        assert model.list_names_ == NAMES

    def test_weights_are_those_of_fusions_without_training(self):
        lists, grades = ranked()
        model = RankFusion("feature", n_rounds=5, missing="low").fit(lists, grades)
        fused = fuse(lists, "rrf", weights=model.coef_)
        np.testing.assert_allclose(fused, model.predict(lists), rtol=1e-12)

    def test_scores_may_stand_beside_ranks(self, tmp_path):
        plain, grades = ranked()
        noise = np.random.default_rng(1).normal(size=plain.positions.shape)
        scores = np.where(plain.returned, grades[:, None] + 0.1 * noise, np.nan)
        lists = RankedLists.from_scores(scores, plain.qid, plain.docs, NAMES)
        model = RankFusion("stump", n_rounds=5, values=["rank", "score"]).fit(lists, grades)
        normal = np.where(lists.returned, normalized_scores(lists), np.nan)
        both = np.hstack([-lists.positions, normal])
        ranker = RankBoost("stump", n_rounds=5).fit(both, grades, lists.qid)
        np.testing.assert_array_equal(model.predict(lists), ranker.predict(both))
        assert model.list_names_ == NAMES
        assert any("(score) >= 0." in str(rule) for rule in model.rules())
        model.save(tmp_path / "fusion.edgewise")
        loaded = load(tmp_path / "fusion.edgewise")
        np.testing.assert_array_equal(loaded.predict(lists), model.predict(lists))
        # Lists in another order bring their scores along.
        swapped = RankedLists(
            lists.positions[:, ::-1], lists.qid, lists.scores[:, ::-1], names=NAMES[::-1]
        )
        np.testing.assert_array_equal(model.predict(swapped), model.predict(lists))
        with pytest.raises(ValueError, match="needs lists with scores"):
            model.predict(plain)

    @pytest.mark.parametrize("wrong", ["position", [], ["rank", "rank"], 3])
    def test_others_are_refused(self, wrong):
        with pytest.raises(ValueError, match="values"):
            RankFusion(values=wrong).fit(*ranked())

    def test_documents_of_lists_are_explained(self):
        lists, grades = ranked()
        model = RankFusion(n_rounds=5).fit(lists, grades)
        scores = model.predict(lists)
        assert model.explain(lists.take([3])).scores[0] == scores[3]
        explanation = model.explain_pair(lists.take([3]), lists.take([4]))
        assert explanation.scores == (scores[3], scores[4])


@pytest.fixture(scope="module")
def many():
    return ranked(n_queries=30)


class TestAuto:
    def fits(self, many, **settings):
        return {
            name: RankFusion(name, n_rounds=15, **settings).fit(*many)
            for name in ("auto", "stump", "feature")
        }

    def test_takes_what_ranks_validation_queries_better(self, many):
        fits = self.fits(many, validation_fraction=0.3)
        best = max(("stump", "feature"), key=lambda name: fits[name].history_["validation"][-1])
        np.testing.assert_array_equal(fits["auto"].predict(many[0]), fits[best].predict(many[0]))

    @pytest.mark.parametrize("n_rounds", [None, 15])
    def test_without_validation_queries_sets_a_fifth_aside_and_trains_on_all(self, many, n_rounds):
        aside = {
            name: RankFusion(
                name, n_rounds=n_rounds or 500, validation_fraction=0.2, early_stopping_rounds=50
            ).fit(*many)
            for name in ("stump", "feature")
        }
        values = {
            name: aside[name].history_["validation"][aside[name].best_iteration_ - 1]
            for name in ("stump", "feature")
        }
        best = max(values, key=values.get)
        model = RankFusion(n_rounds=n_rounds).fit(*many)
        expected = RankFusion(best, n_rounds=n_rounds or aside[best].best_iteration_).fit(*many)
        np.testing.assert_array_equal(model.predict(many[0]), expected.predict(many[0]))

    @pytest.mark.parametrize(
        "settings", [{"criterion": "energy"}, {"monotonic_cst": "increasing"}], ids=str
    )
    def test_is_thresholds_where_settings_are_for_them(self, many, settings):
        model = RankFusion(n_rounds=3, **settings).fit(*many)
        assert model.values_ == ("rank",)
        assert model.n_rounds_ == 3

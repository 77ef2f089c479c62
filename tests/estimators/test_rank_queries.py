"""Queries of documents: ids that were forgotten, sizes instead of ids, and positions of clicks."""

import logging

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

import edgewise
from edgewise import RankBoost, metrics
from edgewise.common.checks import seed

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)).round(1)
Y = (X[:, 0] > 0) * 2 + (X[:, 1] > 0)
QID = np.repeat(np.arange(6), 10)
SIZES = np.full(6, 10)


def ranker(**settings):
    return RankBoost(n_rounds=5, **settings)


class TestForgottenQueries:
    def test_are_warned_of(self, caplog):
        ranker().fit(X, Y)
        assert "all 60 documents are compared with each other, as one list" in caplog.text

    def test_in_every_fold_of_a_cross_validation_that_does_not_know_them(self, caplog):
        cross_val_score(ranker(), X, Y, groups=QID, cv=3)
        assert caplog.text.count("as one list") == 3

    def test_in_a_column_are_refused(self):
        frame = pd.DataFrame({"x": X[:, 0], "query_id": QID})
        with pytest.raises(ValueError, match=r"qid.*'query_id'"):
            ranker().fit(frame, Y)

    def test_equal_ids_and_short_lists_are_meant(self, caplog):
        ranker().fit(X, Y, qid=np.zeros(60))
        ranker().fit(X[:20], Y[:20])
        assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


class TestSizes:
    def test_stand_for_ids(self):
        by_id = ranker(early_stopping_rounds=3).fit(X, Y, qid=QID, eval_set=(X, Y, QID))
        by_size = ranker(early_stopping_rounds=3).fit(
            X, Y, group=SIZES, eval_set=[(X, Y)], eval_group=[SIZES]
        )
        assert np.array_equal(by_id.predict(X), by_size.predict(X))
        assert by_id.evals_result_.keys() == by_size.evals_result_.keys()
        assert by_id.score(X, Y, QID) == by_size.score(X, Y, group=SIZES)
        assert np.array_equal(by_id.rank(X, QID), by_size.rank(X, group=SIZES))

    def test_ids_of_validation_sets_may_stand_apart(self):
        tuples = ranker().fit(X, Y, QID, eval_set=[(X, Y, QID), (X[:20], Y[:20], QID[:20])])
        apart = ranker().fit(
            X, Y, QID, eval_set=[(X, Y), (X[:20], Y[:20])], eval_qid=[QID, QID[:20]]
        )
        for name, recorded in tuples.evals_result_.items():
            assert np.array_equal(recorded["ndcg@10"], apart.evals_result_[name]["ndcg@10"])

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"group": [30, 20]}, "group must add up to the 60 rows"),
            ({"group": [30.5, 29.5]}, "group must be the sizes"),
            ({"group": SIZES, "qid": QID}, "give qid or group, not both"),
            ({"qid": QID, "eval_set": (X, Y), "eval_qid": [QID, QID]}, "eval_qid.*2"),
            ({"qid": QID, "eval_group": SIZES}, "eval_group.*eval_set"),
            ({"qid": QID, "eval_set": (X, Y, QID), "eval_qid": QID}, r"a tuple \(X, y\)"),
        ],
    )
    def test_that_do_not_fit_are_refused(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            ranker().fit(X, Y, **arguments)


class TestClicks:
    def test_count_by_the_propensity_of_their_position(self):
        """Clicks that fall with the position alone teach nothing once that is known."""
        rng = np.random.default_rng(1)
        n_queries, size = 400, 5
        good = rng.random((n_queries, size)) < 0.4
        shown = np.argsort(-(0.5 * good + rng.random((n_queries, size))), axis=1)
        position = np.argsort(shown, axis=1)
        seen = 1.0 / (1 + position) ** 2
        clicks = (good & (rng.random((n_queries, size)) < seen)).astype(int).ravel()
        features = np.stack([good + 0.8 * rng.random((n_queries, size)), -position], axis=2)
        features, qid = features.reshape(-1, 2), np.repeat(np.arange(n_queries), size)

        def quality(**weights):
            model = RankBoost(n_rounds=30).fit(features, clicks, qid=qid, **weights)
            scores = model.predict(features)
            return metrics.grouped_auc(good.ravel().astype(int), scores, qid)

        assert quality(propensity=seen.ravel()) > quality() + 0.02

    def test_a_propensity_is_a_weight_of_clicked_documents(self):
        seen = np.linspace(0.2, 1, 60)
        clicks = (Y > 1).astype(int)
        weights = np.where(clicks > 0, 1 / seen, 1.0)
        first = ranker().fit(X, clicks, qid=QID, propensity=seen).predict(X)
        assert np.array_equal(first, ranker().fit(X, clicks, QID, sample_weight=weights).predict(X))

    @pytest.mark.parametrize("wrong", [0.0, -1.0, 1.5, np.nan])
    def test_what_is_no_probability_is_refused(self, wrong):
        seen = np.ones(60)
        seen[7] = wrong
        with pytest.raises(ValueError, match="propensity"):
            ranker().fit(X, Y, qid=QID, propensity=seen)


class TestFirstRounds:
    def test_predict_as_their_stage_did(self):
        model = ranker().fit(X, Y, qid=QID)
        for n, scores in enumerate(model.staged_predict(X), 1):
            assert model.predict(X, n_rounds=n) == pytest.approx(scores, abs=1e-12)
        assert not model.predict(X, n_rounds=0).any()
        assert np.array_equal(model.predict(X, 5), model.predict(X))
        with pytest.raises(ValueError, match="n_rounds must be an integer from 0 to 5"):
            model.predict(X, n_rounds=6)


class TestImportances:
    def test_by_permutation_are_losses_of_the_metric(self):
        model = ranker(eval_metric="disagreement").fit(X, Y, qid=QID)
        importance = model.permutation_importance(X, Y, QID, n_repeats=3)
        assert importance.importances.shape == (3, 3)
        order = np.random.default_rng(seed(0)).permutation(60)
        mixed = X.copy()
        mixed[:, 0] = X[order, 0]
        loss = model.score(X, Y, QID) - model.score(mixed, Y, QID)
        assert importance.importances[0, 0] == pytest.approx(loss, abs=1e-15)
        assert importance.importances_mean.argmax() == 0
        by_map = model.permutation_importance(X, Y, group=SIZES, metric="map", n_repeats=3)
        assert not np.array_equal(by_map.importances, importance.importances)

    def test_of_a_frame_with_categories(self):
        frame = pd.DataFrame({"a": X[:, 0], "word": np.where(X[:, 1] > 0, "yes", "no")})
        model = RankBoost(n_rounds=30).fit(frame, Y, qid=QID)
        assert (model.permutation_importance(frame, Y, QID).importances_mean > 0).all()

    def test_coefficients_are_those_of_columns_themselves(self):
        model = ranker(learner="feature").fit(X, Y, qid=QID)
        moved = X + np.array([1.0, 0.0, 0.0])
        assert model.predict(moved) - model.predict(X) == pytest.approx(model.coef_[0])
        assert model.coef_[0] > 0
        assert "slope +" in str(model.explain())
        assert not ranker().fit(X, Y, qid=QID).coef_.any()


class TestNormalizing:
    @pytest.mark.parametrize("method", ["min-max", "zmuv", "rank"])
    def test_brings_columns_to_one_scale_within_each_query(self, method):
        normalized = edgewise.normalize_by_query(X, QID, method)
        scaled = edgewise.normalize_by_query(X * 7 + QID[:, None], QID, method)
        assert normalized == pytest.approx(scaled)
        for query in range(6):
            values = normalized[query == QID]
            if method == "zmuv":
                assert values.mean(axis=0) == pytest.approx(0, abs=1e-12)
                assert values.std(axis=0) == pytest.approx(1)
            else:
                assert (values.min(axis=0) == 0).all()
                assert (values.max(axis=0) == 1).all()

    def test_leaves_missing_values_and_flattens_what_does_not_vary(self):
        columns = [[1.0, np.nan], [1.0, 3.0], [1.0, np.nan], [2.0, np.nan]]
        for method in ("min-max", "sum", "zmuv", "rank"):
            scaled = edgewise.normalize_by_query(columns, [1, 1, 1, 2], method)
            assert scaled[:, 0].tolist() == [0, 0, 0, 0]
            assert np.isnan(scaled[:, 1]).tolist() == [True, False, True, True]


class TestMetricsOfSavedRankers:
    def loaded(self, tmp_path, metric):
        path = tmp_path / "model.edgewise"
        ranker(eval_metric=metric).fit(X, Y, qid=QID, eval_set=(X, Y, QID)).save(path)
        return edgewise.load(path)

    def test_the_librarys_own_are_kept_by_name(self, tmp_path):
        model = self.loaded(tmp_path, metrics.ranking_metric("ndcg@3"))
        assert model.eval_metric == "ndcg@3"
        assert model.score(X, Y, QID) == metrics.ndcg(Y, model.predict(X), QID, k=3)
        assert self.loaded(tmp_path, metrics.mean_reciprocal_rank).eval_metric == "mrr"

    def test_a_function_that_a_file_cannot_hold_is_not_another_metric_after_loading(self, tmp_path):
        def ndcg_at_3(y, scores, qid):
            return metrics.ndcg(y, scores, qid, k=3)

        model = self.loaded(tmp_path, ndcg_at_3)
        assert model.eval_metric_ == "ndcg_at_3"
        with pytest.raises(ValueError, match=r"eval_metric is None: .* which a file cannot hold"):
            model.score(X, Y, QID)
        with pytest.raises(ValueError, match="give one again with set_params"):
            model.fit(X, Y, qid=QID)
        model.set_params(eval_metric="map")
        assert model.score(X, Y, QID) == metrics.mean_average_precision(Y, model.predict(X), QID)


def test_bias_and_curves_add_up_to_the_scores_of_a_ranker():
    model = ranker().fit(X, Y, qid=QID)
    explanation = model.explain()
    total = np.full(60, explanation.bias[0])
    for curve in explanation:
        step = np.searchsorted(curve.thresholds, X[:, curve.column], side="right")
        total += curve.scores[step, 0]
    assert np.allclose(total, model.predict(X), rtol=0, atol=1e-12)

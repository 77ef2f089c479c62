"""Cross-validation of rankers over whole queries."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from edgewise import QueryKFold, RankBoost, RankFusion, cross_validate, metrics
from edgewise.fusion import RankedLists

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3)).round(1)
Y = (X[:, 0] + X[:, 1] + RNG.normal(size=120) > 0.5).astype(int) + (X[:, 0] > 1)
QID = RNG.permutation(np.repeat(np.arange(20), 6))
RANKER = RankBoost(n_rounds=5, random_state=0)


@pytest.fixture(scope="module")
def found():
    return cross_validate(RANKER, X, Y, QID, cv=4, metrics="map,ndcg@1,3,disagreement")


class TestFolds:
    def test_have_whole_queries_equally_many_and_each_once(self):
        splits = list(QueryKFold(3).split(X, Y, QID))
        queries = [np.unique(QID[test]) for _, test in splits]
        assert sorted(map(len, queries)) == [6, 7, 7]
        assert sorted(np.concatenate(queries)) == list(range(20))
        for training, test in splits:
            assert not np.isin(QID[training], QID[test]).any()
            assert len(training) + len(test) == 120

    def test_do_not_depend_on_the_order_of_the_rows_but_on_the_seed(self):
        order = np.random.default_rng(1).permutation(120)
        first = [set(QID[test]) for _, test in QueryKFold(3).split(X, Y, QID)]
        other = [set(QID[order][test]) for _, test in QueryKFold(3).split(X, Y, QID[order])]
        assert first == other
        seeded = QueryKFold(3, random_state=7).split(X, Y, QID)
        assert first != [set(QID[test]) for _, test in seeded]

    def test_serve_scikit_learn(self):
        with sklearn.config_context(enable_metadata_routing=True):
            ranker = RANKER.set_fit_request(qid=True).set_score_request(qid=True)
            grid = GridSearchCV(ranker, {"learning_rate": [0.1, 0.5]}, cv=QueryKFold(3))
            grid.fit(X, Y, qid=QID, groups=QID)
        assert grid.n_splits_ == 3
        assert repr(QueryKFold(3)) == "QueryKFold(n_splits=3, random_state=0)"

    def test_need_query_ids_and_enough_of_them(self):
        with pytest.raises(ValueError, match="groups must be the query ids"):
            next(QueryKFold(3).split(X, Y))
        with pytest.raises(ValueError, match="n_splits=21 is more than there are queries, 20"):
            next(QueryKFold(21).split(X, Y, QID))


class TestCrossValidation:
    def test_is_what_a_loop_over_folds_finds(self, found):
        lists = metrics.Lists(Y, QID)
        for fold, (training, test) in enumerate(QueryKFold(4).split(X, Y, QID)):
            model = RankBoost(n_rounds=5).fit(X[training], Y[training], qid=QID[training])
            scores = model.predict(X[test])
            assert np.array_equal(found.scores[test], scores)
            expected = metrics.mean_average_precision(Y[test], scores, QID[test])
            assert found.fold_means["map"][fold] == pytest.approx(expected)
            assert set(lists.queries[found.folds == fold]) == set(QID[test])
        assert found.means["ndcg@3"] == pytest.approx(metrics.ndcg(Y, found.scores, QID, k=3))
        low, high = found.intervals["map"]
        assert low < found.means["map"] < high

    def test_says_what_it_found(self, found):
        assert str(found).startswith("20 queries in 4 folds\n")
        frame = found.to_frame("pandas", intervals=True).set_index("fold")
        assert list(frame.index) == ["all", "1", "2", "3", "4"]
        assert frame.loc["2", "map"] == found.fold_means["map"][1]
        assert tuple(frame.loc["all", ["map_low", "map_high"]]) == found.intervals["map"]

    @pytest.mark.parametrize("kind", ["frame", "sparse", "sizes", "folds", "weights"])
    def test_takes_all_that_fit_takes(self, kind, found):
        inputs, options = X, {"qid": QID}
        order = np.argsort(QID, kind="stable")
        if kind == "frame":
            inputs = pd.DataFrame(X, columns=["a", "b", "c"])
        elif kind == "sparse":
            inputs = sparse.csr_matrix(X)
        elif kind == "sizes":
            inputs, options = X[order], {"group": np.full(20, 6)}
        elif kind == "folds":
            options["cv"] = GroupKFold(4)
        else:
            options["sample_weight"] = np.linspace(1, 2, 120)
        options.setdefault("cv", 4)
        y = Y[order] if kind == "sizes" else Y
        result = cross_validate(RANKER, inputs, y, metrics="map", **options)
        if kind in ("frame", "sparse"):
            assert np.array_equal(result.values["map"], found.values["map"])
        assert result.values["map"].shape == (20,)

    def test_of_a_pipeline(self, found):
        scaled = make_pipeline(StandardScaler(), RANKER)
        result = cross_validate(scaled, X, Y, QID, cv=4)
        assert list(result.values) == ["map", "ndcg@10"]
        assert result.means["map"] == pytest.approx(found.means["map"], abs=0.05)

    def test_of_ranked_lists(self):
        lists = RankedLists.from_scores(X, QID)
        result = cross_validate(RankFusion(n_rounds=5), lists, Y, cv=4)
        training, test = next(QueryKFold(4).split(Y, Y, QID))
        model = RankFusion(n_rounds=5).fit(lists.take(training), Y[training])
        assert np.array_equal(result.scores[test], model.predict(lists.take(test)))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, "qid must be given: folds are of whole queries"),
            (
                {"qid": QID, "cv": [(np.arange(60), np.arange(60, 120))]},
                "cv must have folds of whole queries",
            ),
            ({"qid": QID, "cv": list(QueryKFold(3).split(X, Y, QID))[:2]}, "every query in one"),
            ({"qid": QID, "metrics": "mapp"}, "unknown metrics"),
            ({"qid": QID, "sample_weight": [1.0]}, "a weight for each document"),
        ],
    )
    def test_refuses_what_is_wrong(self, options, message):
        with pytest.raises(ValueError, match=message):
            cross_validate(RANKER, X, Y, **options)

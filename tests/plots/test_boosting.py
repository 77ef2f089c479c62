import functools

import numpy as np
import pytest

from edgewise import AdaBoostMH, RankBoost, load
from edgewise.metrics import mean_average_precision, ranking_metric
from edgewise.plots import BoostingCurveDisplay

Figure = pytest.importorskip("matplotlib.figure").Figure


def figure_of(model):
    return BoostingCurveDisplay.from_estimator(model).figure_


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


class TestLearningCurve:
    def test_every_quantity_is_named_and_drawn(self, model):
        above, below = figure_of(model).axes
        assert labels(above) == ["bound", "training error", "Hamming loss", "validation error"]
        np.testing.assert_array_equal(above.lines[0].get_ydata(), model.history_["bound"])
        np.testing.assert_array_equal(below.lines[0].get_ydata(), model.history_["edge"])
        assert below.get_xlim() == (1, 30)

    def test_losses_that_reach_zero_stay_on_the_axis(self):
        model = AdaBoostMH(n_rounds=60).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
        assert model.history_["train_error"][-1] == 0
        above, _ = figure_of(model).axes
        assert above.get_ylim()[0] == 0
        assert above.get_ylim()[1] > 0

    def test_one_round_shows(self):
        model = AdaBoostMH(n_rounds=1).fit([[0.0], [1.0]], ["a", "b"])
        above, _ = figure_of(model).axes
        assert above.lines[0].get_marker() == "o"

    def test_a_metric_below_zero_has_a_panel(self, rows):
        def minus_mean(y, scores):
            return -float(np.abs(scores).mean())

        model = AdaBoostMH(n_rounds=40, eval_metric=minus_mean).fit(*rows, eval_set=rows)
        _, middle, _ = figure_of(model).axes
        assert middle.get_ylim()[0] <= model.history_["validation"].min()
        assert middle.get_ylabel().split() == ["validation", "minus", "mean"]

    @pytest.mark.parametrize(
        ("eval_metric", "name"),
        [("roc_auc", "validation ROC AUC"), ("balanced_accuracy", "validation balanced accuracy")],
    )
    def test_a_metric_that_is_not_an_error_rate_has_a_panel(self, rows, eval_metric, name):
        model = AdaBoostMH(n_rounds=12, eval_metric=eval_metric).fit(*rows, eval_set=rows)
        figure = figure_of(model)
        above, middle, below = figure.axes
        assert labels(above) == ["bound", "training error", "Hamming loss"]
        assert middle.get_ylabel().replace("\n", " ").replace("  ", " ") == name
        np.testing.assert_array_equal(middle.lines[0].get_ydata(), model.history_["validation"])
        best = model.history_["validation"].argmax() + 1
        assert labels(middle)[0].endswith(f"(round {best})")
        assert below.get_xlabel() == "boosting round"


class TestLearningCurveOfARanker:
    def test_losses_above_metric_in_the_middle_edges_below(self, ranker):
        figure = figure_of(ranker)
        above, middle, below = figure.axes
        assert [axes.get_ylabel() for axes in figure.axes] == ["loss", "validation NDCG@10", "edge"]
        assert [axes.get_xlabel() for axes in figure.axes] == ["", "", "boosting round"]
        assert labels(above) == ["bound", "ranking loss"]
        assert below.get_legend() is None
        for axes in (above, middle, below):
            assert axes.get_xlim() == (1, 40)

    def test_what_is_drawn_is_the_history(self, ranker):
        above, middle, below = figure_of(ranker).axes
        lines = [above.lines[0], above.lines[1], middle.lines[0], below.lines[0]]
        names = ["bound", "ranking_loss", "validation", "edge"]
        for line, name in zip(lines, names, strict=True):
            np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 41))
            np.testing.assert_array_equal(line.get_ydata(), ranker.history_[name])

    @pytest.mark.parametrize(("metric", "best_of"), [("ndcg@10", np.max), ("disagreement", np.min)])
    def test_the_best_round_is_marked_whichever_way_is_better(self, documents, metric, best_of):
        model = RankBoost(n_rounds=40, eval_metric=metric)
        model.fit(*documents(), eval_set=documents(seed=1))
        _, middle, _ = figure_of(model).axes
        best = best_of(model.history_["validation"])
        round_, value = middle.lines[1].get_data()
        assert (list(round_), list(value)) == ([model.best_iteration_], [best])
        assert labels(middle) == [f"best: {best:.4g} (round {model.best_iteration_})"]

    def test_edges_of_both_signs_are_all_on_the_axis(self, documents):
        # The second column is better when low, so that its rules are turned round.
        model = RankBoost("stump", n_rounds=20).fit(*documents())
        edges = model.history_["edge"]
        assert edges.min() < 0 < edges.max()
        _, below = figure_of(model).axes
        low, high = below.get_ylim()
        assert low <= edges.min()
        assert high >= edges.max()
        assert below.lines[0].get_linestyle() == "None"

    def test_edges_of_one_sign_begin_at_zero(self, documents):
        X, y, qid = documents()
        model = RankBoost(n_rounds=20, monotonic_cst="increasing").fit(X[:, :1], y, qid)
        assert model.history_["edge"].min() >= 0
        assert figure_of(model).axes[-1].get_ylim()[0] == 0

    def test_early_stopping_is_marked_in_every_panel(self, documents):
        X, _, qid = documents()
        noise = np.random.default_rng(1).integers(0, 3, len(X))
        model = RankBoost(n_rounds=100, early_stopping_rounds=3).fit(
            X, noise, qid, eval_set=documents(seed=1)
        )
        assert 0 < model.n_rounds_ < model.history_.n_rounds
        figure = figure_of(model)
        for axes in figure.axes:
            dotted = [line for line in axes.lines if line.get_linestyle() == ":"]
            assert [list(line.get_xdata()) for line in dotted] == [[model.n_rounds_] * 2]
        assert labels(figure.axes[0])[-1] == f"kept: {model.n_rounds_}"

    def test_a_ranker_without_rounds_is_refused(self):
        model = RankBoost(n_rounds=5, monotonic_cst="increasing").fit([[2.0], [1.0]], [0, 1])
        assert model.n_rounds_ == 0
        with pytest.raises(ValueError, match="at least one round"):
            figure_of(model)


class TestNameOfTheMetric:
    def labeled(self, documents, metric):
        X, y, qid = documents(5)
        model = RankBoost(n_rounds=2, eval_metric=metric).fit(X, y, qid, eval_set=(X, y, qid))
        return figure_of(model).axes[1].get_ylabel()

    def test_a_metric_with_a_name(self, documents):
        assert self.labeled(documents, ranking_metric("ndcg@3")) == "validation NDCG@3"

    def test_a_long_name_is_broken_into_lines(self, documents):
        def satisfaction_of_most_users(y, scores, qid):
            return float(scores.mean())

        lines = self.labeled(documents, satisfaction_of_most_users).split("\n")
        assert lines == ["validation", "satisfaction of most", "users"]

    def test_a_function_without_a_name(self, documents):
        metric = functools.partial(mean_average_precision)
        assert self.labeled(documents, metric) == "validation metric"

    def test_a_function_that_the_file_could_not_hold_keeps_its_name(self, documents, tmp_path):
        X, y, qid = documents(5)

        def mine(y, scores, qid):
            return float(scores.mean())

        model = RankBoost(n_rounds=2, eval_metric=mine).fit(X, y, qid, eval_set=(X, y, qid))
        model.save(tmp_path / "model")
        axes = figure_of(load(tmp_path / "model")).axes[1]
        assert axes.get_ylabel() == "validation mine"
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), model.history_["validation"])


def test_several_sets_of_rows_and_metrics(rows):
    X, y = rows
    model = AdaBoostMH("stump", n_rounds=4, eval_metric=["balanced_accuracy", "log_loss", "error"])
    model.fit(X, y, eval_set=[(X[:60], y[:60]), (X[60:], y[60:])], eval_names=["early", "late"])
    shown = BoostingCurveDisplay.from_estimator(model)
    above, middle, log_loss, _ = shown.axes_
    assert labels(above)[3:] == ["early error", "late error"]
    assert labels(log_loss)[:2] == ["early", "late"]
    best = model.best_iteration_
    value = model.evals_result_["late"]["balanced_accuracy"][best - 1]
    assert labels(middle) == ["early", "late", f"best: {value:.4g} (round {best})"]
    np.testing.assert_array_equal(above.lines[-1].get_ydata(), model.evals_result_["late"]["error"])


def test_rows_held_out_to_choose_the_rounds(rows):
    X, y = rows
    model = AdaBoostMH().fit(X[:40], y[:40])
    record = model.fitted_.held_out
    axes = BoostingCurveDisplay.from_estimator(model).axes_[1]
    assert axes.get_ylabel().split() == ["held-out", "log", "loss"]
    rounds, values = axes.lines[0].get_data()
    np.testing.assert_array_equal(values, record.values)
    np.testing.assert_array_equal(rounds, record.stride * np.arange(1, len(values) + 1))


class TestAxes:
    def test_one_shows_the_losses_alone(self, ranker):
        axes = Figure().subplots()
        shown = BoostingCurveDisplay.from_estimator(ranker, ax=axes)
        assert (shown.ax_, shown.axes_, shown.figure_) == (axes, [axes], axes.figure)
        assert labels(axes) == ["bound", "ranking loss"]
        assert axes.get_xlabel() == "boosting round"

    def test_several_show_a_panel_each(self, ranker):
        panels = Figure().subplots(1, 3)
        shown = BoostingCurveDisplay.from_estimator(ranker, ax=panels)
        assert shown.axes_ == list(panels)
        assert [axes.get_ylabel() for axes in panels] == ["loss", "validation NDCG@10", "edge"]

    def test_another_number_is_refused(self, ranker):
        with pytest.raises(ValueError, match="ax must be one Axes or 3, got 2"):
            BoostingCurveDisplay.from_estimator(ranker, ax=Figure().subplots(2, 1))

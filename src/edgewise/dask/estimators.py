"""AdaBoostMH and RankBoost with the data of a Dask cluster."""

import sys
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from edgewise.common.files import PathLike
from edgewise.dask.pieces import Piece, delayed_pieces, is_dask, partitions
from edgewise.dask.training import Sets, Training
from edgewise.estimators import AdaBoostMH, RankBoost, classification, ranking
from edgewise.estimators.base import BoostedModel
from edgewise.estimators.validation import EvalSet, named_eval_sets

if TYPE_CHECKING:
    from distributed import Client


class _OnDask(BoostedModel[Any]):
    """What the estimators share: training on workers, lazy predictions, the plain model."""

    _plain: type[Any]

    def to_local(self) -> Any:
        """Return the plain model, which knows nothing of Dask."""
        check_is_fitted(self)
        return self._local()

    def save(self, path: PathLike) -> None:
        """Write the plain model to a file that :func:`edgewise.load` reads, without Dask.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        self.to_local().save(path)

    def _local(self) -> Any:
        model = self._plain(**self.get_params(deep=False))
        if self.__sklearn_is_fitted__():
            model.fitted_ = self.fitted_
            model.schema_ = self.schema_
        return model

    def _train(
        self,
        client: "Client | None",
        rows: dict[str, Any],
        eval_sets: list[EvalSet],
        arguments: dict[str, Any],
    ) -> Self:
        """Train on Dask collections; the arguments go to the plain `fit` as they are."""
        training = delayed_pieces(**rows)
        validation = {}
        for one in eval_sets:
            given = one.value
            kinds = (2, 3) if "qid" in rows or self._plain is RankBoost else (2,)
            if not isinstance(given, tuple) or len(given) not in kinds:
                shapes = " or ".join("(X, y, qid)" if n == 3 else "(X, y)" for n in kinds)
                raise ValueError(f"{one.argument} must be a tuple {shapes} of Dask collections")
            parts = dict(zip(("X", "y", "qid"), given, strict=False))
            validation[one.argument] = delayed_pieces(**parts, prefix=f"{one.argument}: ")
        if eval_sets:
            arguments["eval_names"] = [one.name for one in eval_sets]
        model = self._local()
        model.random_state = _shared(self.random_state)
        run = Training(_client(client), model, Sets(training, validation), arguments)
        self.fitted_ = run.record()
        for checkpoint in run.checkpoints:
            self.save(checkpoint.path)
        return self

    def _lazy(self, method: str, X: Any, like: NDArray[Any]) -> Any:
        """Return what a method of the plain model says of each partition, as a Dask Array.

        `like` is its answer for one row.
        """
        import dask.array as da
        from dask import delayed

        model, parts = delayed(self.to_local()), partitions("X", X)
        sizes = getattr(X, "chunks", [(np.nan,) * len(parts)])[0]
        answer = delayed(_answer, pure=True)
        blocks = [
            da.from_delayed(
                answer(model, method, part, like[:0]), (size, *like.shape[1:]), dtype=like.dtype
            )
            for part, size in zip(parts, sizes, strict=True)
        ]
        return da.concatenate(blocks, allow_unknown_chunksizes=True)


class DaskAdaBoostMH(_OnDask, AdaBoostMH):
    """AdaBoostMH on the data of a Dask cluster: the same model as on one machine, bit for bit.

    Each worker trains on the rows that it has; only sums of integers travel. Partitions, their
    order among the workers, and the number of workers do not show in the model. Its parameters,
    attributes and methods are those of `AdaBoostMH`, which take data in memory as well. A `n_jobs`
    of None is the threads of each worker.

    Callbacks run on the first worker, and `Checkpoint` writes its file where the client is. With
    one, training goes on from it if workers die; without, it ends with an error that names them.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from edgewise.dask import DaskAdaBoostMH
    >>> client = Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 4), chunks=(250, 4))
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> model = DaskAdaBoostMH(n_rounds=50).fit(X, y)
    >>> model.predict(X)
    dask.array<concatenate, shape=(1000,), dtype=int64, chunksize=(250,), chunktype=numpy.ndarray>
    >>> model.score(X, y) > 0.95
    True
    >>> type(model.to_local()).__name__
    'AdaBoostMH'
    >>> client.close()
    """

    _plain = AdaBoostMH

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
        client: "Client | None" = None,
    ) -> Self:
        """Train on rows `X` with targets `y`, where they are, and return the model.

        Parameters
        ----------
        X : Dask DataFrame or Array of shape (n_samples, n_features)
            The rows; the blocks of an Array may be sparse matrices.
        y : Dask Series or Array of shape (n_samples,), or 0/1 of shape (n_samples, n_labels)
            Classes, or the labels of a multi-label problem, in the partitions of `X`.
        sample_weight : Dask Series or Array of shape (n_samples,), or None
            Weights of the rows.
        eval_set : tuple (X, y) of Dask collections, list of such tuples, or None
            Validation rows. Of several sets the last decides when to stop early.
        eval_names : list of str or None
            The names of the sets.
        client : distributed.Client or None, default None
            The cluster; None is the client made last.
        """
        sets = named_eval_sets(eval_set, eval_names)
        classification.check_parameters(self._local(), bool(sets))
        if not isinstance(self.init_weights, str):
            raise ValueError(
                "init_weights of a matrix are for rows in memory: use sample_weight, or a name"
            )
        rows = {"X": X, "y": y, "sample_weight": sample_weight}
        self._train(client, rows, sets, {})
        if self.verbose:
            sys.stderr.write(f"{self.settings_}\n")
        return self

    def decision_function(self, X: Any) -> Any:
        """Return the scores, (n_samples,) or (n_samples, K) as AdaBoostMH; of Dask rows lazily."""
        if not is_dask(X):
            return super().decision_function(X)
        return self._lazy("decision_function", X, self._of_one(self._shaped))

    def predict(self, X: Any) -> Any:
        """Return the predicted class of each row, or 0/1 for each label; of Dask rows lazily."""
        if not is_dask(X):
            return super().predict(X)
        return self._lazy("predict", X, self._of_one(self._decided))

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of classes or labels, as AdaBoostMH; of Dask rows lazily."""
        if not is_dask(X):
            return super().predict_proba(X)
        return self._lazy("predict_proba", X, self._of_one(self._probabilities))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the weighted share of rows that have all labels right.

        Parameters
        ----------
        X, y, sample_weight
            Rows, classes or labels, and weights or None: Dask collections, or all in memory.
        """
        if not is_dask(X):
            return float(super().score(X, y, sample_weight))
        from dask import compute, delayed

        right, model = delayed(_right), delayed(self.to_local())
        found = compute(*(right(model, piece) for piece in delayed_pieces(X, y, sample_weight)))
        correct, total = np.sum(found, axis=0).tolist()
        return correct / total

    def _of_one(self, shape: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """Return the answer for one row without scores, for its type and shape."""
        check_is_fitted(self)
        return shape(np.zeros((1, self.fitted_.terms.n_scores)))


class DaskRankBoost(_OnDask, RankBoost):
    """RankBoost on the data of a Dask cluster: the same model as on one machine, bit for bit.

    Each worker trains on the queries that it has; only sums of integers travel. The rows of a query
    may be in several partitions; if these are on different workers, the rows move to the one that
    has the first of them. Parameters, attributes and methods are those of `RankBoost`, which take
    data in memory as well; for callbacks and faults see `DaskAdaBoostMH`.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from edgewise.dask import DaskRankBoost
    >>> client = Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 4), chunks=(250, 4))
    >>> y, qid = (X[:, 0] > 0).astype(int), da.arange(1000, chunks=250) // 10
    >>> model = DaskRankBoost(n_rounds=20).fit(X, y, qid=qid)
    >>> model.score(X, y, qid=qid) > 0.9
    True
    >>> client.close()
    """

    _plain = RankBoost

    # Sizes of queries and propensities of clicks are for documents in memory.
    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
        client: "Client | None" = None,
    ) -> Self:
        """Train on documents `X` with grades `y` in the queries `qid`, and return the model.

        Parameters
        ----------
        X : Dask DataFrame or Array of shape (n_samples, n_features)
            The documents.
        y : Dask Series or Array of shape (n_samples,)
            Grades, in the partitions of `X`.
        qid : Dask Series or Array of shape (n_samples,)
            The query of each document. A query's documents are best in one partition, or next to
            each other, as in rows sorted by query.
        sample_weight : Dask Series or Array of shape (n_samples,), dict or None
            Weights of the documents, or of the queries by id.
        eval_set : tuple (X, y) or (X, y, qid) of Dask collections, a list of such tuples, or None
            Validation documents. Of several sets the last decides when to stop early.
        eval_names : list of str or None
            The names of the sets.
        client : distributed.Client or None, default None
            The cluster; None is the client made last.
        """
        sets = named_eval_sets(eval_set, eval_names)
        ranking.check_parameters(self._local(), bool(sets))
        if qid is None:
            raise ValueError("qid must be given: workers share documents by their queries")
        by_query = isinstance(sample_weight, dict)
        rows = {"X": X, "y": y, "qid": qid}
        if not by_query:
            rows["sample_weight"] = sample_weight
        return self._train(client, rows, sets, {"sample_weight": sample_weight} if by_query else {})

    def predict(self, X: Any, n_rounds: int | None = None) -> Any:
        """Return the scores of documents: larger is ranked higher; of Dask rows lazily.

        With `n_rounds`, those of the model's first rounds.
        """
        if n_rounds is not None:
            return self._first(n_rounds).predict(X)
        if not is_dask(X):
            return super().predict(X)
        check_is_fitted(self)
        return self._lazy("predict", X, np.zeros(1))

    def score(self, X: Any, y: Any, qid: Any = None, *, group: Any = None) -> float:
        """Return `eval_metric` of the model's ranking of documents with known grades.

        Parameters
        ----------
        X, y, qid
            Documents, grades and queries: Dask collections, or all in memory. The client gathers
            the scores, the grades and the queries.
        group : array of int or None
            The sizes of the queries, in place of `qid`; for documents in memory.
        """
        if not is_dask(X):
            return super().score(X, y, qid, group=group)
        from dask import compute

        if group is not None:
            raise ValueError("group is for documents in memory: give qid")
        if qid is None and self.fitted_.has_queries:
            raise ValueError("qid must be given: the model was trained on several queries")
        scores, grades, queries = compute(self.predict(X), y, qid)
        return self._measured(scores, np.asarray(grades), queries)


def _answer(model: Any, method: str, X: Any, none: NDArray[Any]) -> NDArray[Any]:
    """Return what a method says of rows; `none` where there are none."""
    return getattr(model, method)(X) if X.shape[0] else none


def _right(model: AdaBoostMH, piece: Piece) -> tuple[float, float]:
    """Return the weight of the rows that a model gets right, and of all."""
    if not piece.n_rows:
        return 0.0, 0.0
    equal = model.predict(piece.X) == piece.y
    right = equal.all(axis=1) if equal.ndim == 2 else equal
    weights = np.ones(len(right)) if piece.sample_weight is None else piece.sample_weight
    return float(weights[right].sum()), float(weights.sum())


def _shared(random_state: Any) -> Any:
    """Return a random state that gives all workers the same seed."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        before = copy(random_state)
        random_state.randint(2**31)  # As a fit in this process moves it on.
        return before
    return random_state


def _client(client: "Client | None") -> "Client":
    """Return the client to use."""
    from distributed import get_client

    if client is None:
        try:
            client = get_client()
        except ValueError as error:
            raise ValueError(
                "client: there is none yet; make one first, distributed.Client(...), or give it"
            ) from error
    if client.asynchronous:
        raise ValueError("client must not be asynchronous: fit waits for the model")
    return client

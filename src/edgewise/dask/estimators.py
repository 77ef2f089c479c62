"""AdaBoostMH and RankBoost with the data of a Dask cluster."""

import sys
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from edgewise.common.dtypes import Reals
from edgewise.common.files import PathLike
from edgewise.dask.pieces import Piece, delayed_pieces, is_dask, partitions
from edgewise.dask.training import ClusterTraining
from edgewise.estimators import AdaBoostMH, RankBoost, classification, ranking
from edgewise.estimators.base import BoostedModel
from edgewise.estimators.rows import EvalSet, name_eval_sets

if TYPE_CHECKING:
    from distributed import Client


class _OnDask(BoostedModel[Any]):
    """Training on workers, lazy predictions, and the plain model."""

    _plain: type[Any]
    _eval_forms: dict[int, str]  # of an eval set, by length

    def to_local(self) -> Any:
        """Return the plain model, which does not need Dask."""
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
            model.fitted_, model.schema_ = self.fitted_, self.schema_
        return model

    def _train(
        self,
        client: "Client | None",
        rows: dict[str, Any],
        eval_sets: list[EvalSet],
        arguments: dict[str, Any],
    ) -> Self:
        """Train on Dask collections; the arguments go to the plain `fit` as they are."""
        training, validation = delayed_pieces(**rows), {}
        for name, values, argument in eval_sets:
            if not isinstance(values, tuple) or len(values) not in self._eval_forms:
                forms = " or ".join(self._eval_forms.values())
                raise ValueError(f"{argument} must be a tuple {forms} of Dask collections")
            collections = dict(zip(("X", "y", "qid"), values, strict=False))
            validation[argument] = delayed_pieces(**collections, prefix=f"{argument}: ")
            arguments.setdefault("eval_names", []).append(name)
        model = self._local()
        model.random_state = _share_random_state(self.random_state)
        run = ClusterTraining(_find_client(client), model, training, validation, arguments)
        self.fitted_ = run.train()
        for checkpoint in run.checkpoints:
            self.save(checkpoint.path)
        return self

    def _predict_lazily(
        self, method: str, X: Any, predict: Callable[[Any, Reals], NDArray[Any]]
    ) -> Any:
        """Return the result of a method of the plain model as a Dask Array.

        `predict` makes it from the record of the model and scores, for its shape and type.
        """
        import dask.array as da
        from dask import delayed

        model, pieces = delayed(self.to_local()), partitions("X", X)
        example = predict(self.fitted_, np.zeros((1, self.fitted_.terms.n_scores)))
        sizes = getattr(X, "chunks", [(np.nan,) * len(pieces)])[0]
        call = delayed(_call_method, pure=True)
        blocks = [
            da.from_delayed(
                call(model, method, piece, example[:0]),
                (size, *example.shape[1:]),
                dtype=example.dtype,
            )
            for piece, size in zip(pieces, sizes, strict=True)
        ]
        return da.concatenate(blocks, allow_unknown_chunksizes=True)


class DaskAdaBoostMH(_OnDask, AdaBoostMH):
    """AdaBoostMH on the data of a Dask cluster: the same model as on one machine, bit for bit.

    Each worker trains on its rows; only sums of integers travel. Partitions, their order and the
    number of workers do not change the model. It has the parameters, attributes and methods of
    `AdaBoostMH`, and takes data in memory as well. With ``n_jobs=None``, a worker uses all of its
    threads.

    Callbacks run on the first worker; `Checkpoint` writes its file where the client is, and lets
    training continue if workers die. Without one, training then ends with an error that names them.

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
    _eval_forms = {2: "(X, y)"}  # noqa: RUF012

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
            Validation rows. The last of several sets decides when to stop early.
        eval_names : list of str or None
            The names of the sets.
        client : distributed.Client or None, default None
            The cluster; None is the client made last.
        """
        sets = name_eval_sets(eval_set, eval_names)
        classification.check_parameters(self._local(), bool(sets))
        if not isinstance(self.init_weights, str):
            raise ValueError("init_weights must be a name with Dask, not a matrix")
        self._train(client, {"X": X, "y": y, "sample_weight": sample_weight}, sets, {})
        if self.verbose:
            sys.stderr.write(f"{self.settings_}\n")
        return self

    def decision_function(self, X: Any) -> Any:
        """Return the scores, (n_samples,) or (n_samples, K) as AdaBoostMH; of Dask rows lazily."""
        if not is_dask(X):
            return super().decision_function(X)
        return self._predict_lazily("decision_function", X, lambda fitted, z: fitted.decisions(z))

    def predict(self, X: Any) -> Any:
        """Return the predicted class of each row, or 0/1 for each label; of Dask rows lazily."""
        if not is_dask(X):
            return super().predict(X)
        return self._predict_lazily("predict", X, lambda fitted, z: fitted.predictions(z))

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of classes or labels, as AdaBoostMH; of Dask rows lazily."""
        if not is_dask(X):
            return super().predict_proba(X)
        return self._predict_lazily("predict_proba", X, lambda fitted, z: fitted.probabilities(z))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the weighted fraction of rows with all labels right.

        Parameters
        ----------
        X, y, sample_weight
            Rows, classes or labels, and weights or None: Dask collections, or all in memory.
        """
        if not is_dask(X):
            return float(super().score(X, y, sample_weight))
        from dask import compute, delayed

        weigh, model = delayed(_weigh_right), delayed(self.to_local())
        weights = compute(*(weigh(model, piece) for piece in delayed_pieces(X, y, sample_weight)))
        right, total = np.sum(weights, axis=0).tolist()
        return right / total


class DaskRankBoost(_OnDask, RankBoost):
    """RankBoost on the data of a Dask cluster: the same model as on one machine, bit for bit.

    Each worker trains on its queries; only sums of integers travel. The rows of a query may be in
    several partitions; if these are on different workers, the rows move to the one that has the
    first of them. It has the parameters, attributes and methods of `RankBoost`, and takes data in
    memory as well; for callbacks and faults see `DaskAdaBoostMH`.

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
    _eval_forms = {2: "(X, y)", 3: "(X, y, qid)"}  # noqa: RUF012

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
            The query of each document, best in rows sorted by query.
        sample_weight : Dask Series or Array of shape (n_samples,), dict or None
            Weights of the documents, or of the queries by id.
        eval_set : tuple (X, y) or (X, y, qid) of Dask collections, a list of such tuples, or None
            Validation documents. The last of several sets decides when to stop early.
        eval_names : list of str or None
            The names of the sets.
        client : distributed.Client or None, default None
            The cluster; None is the client made last.
        """
        sets = name_eval_sets(eval_set, eval_names)
        ranking.check_parameters(self._local(), bool(sets))
        if qid is None:
            raise ValueError("qid must be given: workers share documents by their queries")
        rows, arguments = {"X": X, "y": y, "qid": qid}, dict[str, Any]()
        by_query = isinstance(sample_weight, dict)
        (arguments if by_query else rows)["sample_weight"] = sample_weight
        return self._train(client, rows, sets, arguments)

    def predict(self, X: Any, n_rounds: int | None = None) -> Any:
        """Return the scores of documents: larger is ranked higher; of Dask rows lazily.

        With `n_rounds`, those of the model's first rounds.
        """
        if n_rounds is not None:
            return self._first(n_rounds).predict(X)
        if not is_dask(X):
            return super().predict(X)
        return self._predict_lazily("predict", X, lambda _, scores: scores[:, 0])

    def score(self, X: Any, y: Any, qid: Any = None, *, group: Any = None) -> float:
        """Return `eval_metric` of the model's ranking of documents with known grades.

        Parameters
        ----------
        X, y, qid
            Documents, grades and queries: Dask collections, or all in memory. The client gathers
            the scores, the grades and the queries.
        group : array of int or None
            The sizes of the queries, instead of `qid`; for documents in memory.
        """
        if not is_dask(X):
            return super().score(X, y, qid, group=group)
        from dask import compute

        if group is not None:
            raise ValueError("group is for documents in memory: give qid")
        self._check_queries(qid)
        scores, grades, queries = compute(self.predict(X), y, qid)
        return self._measure_scores(scores, np.asarray(grades), queries)


def _call_method(model: Any, method: str, X: Any, empty: NDArray[Any]) -> NDArray[Any]:
    """Return the result of a method for rows; `empty` without any."""
    return getattr(model, method)(X) if X.shape[0] else empty


def _weigh_right(model: AdaBoostMH, piece: Piece) -> tuple[float, float]:
    """Return the weight of the rows that a model gets right, and of all."""
    if not piece.n_rows:
        return 0.0, 0.0
    equal = model.predict(piece.X) == piece.y
    right = equal.all(axis=1) if equal.ndim == 2 else equal
    weights = np.ones(len(right)) if piece.sample_weight is None else piece.sample_weight
    return float(weights[right].sum()), float(weights.sum())


def _share_random_state(random_state: Any) -> Any:
    """Return a random state that gives all workers the same seed."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        before = copy(random_state)
        random_state.randint(2**31)  # as a fit in this process does
        return before
    return random_state


def _find_client(client: "Client | None") -> "Client":
    from distributed import get_client

    if client is None:
        try:
            client = get_client()
        except ValueError as error:
            raise ValueError("client must be given: no distributed.Client is active") from error
    if client.asynchronous:
        raise ValueError("client must not be asynchronous: fit waits for the model")
    return client

"""Documents to rank, from LETOR files or tables, and their scores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import rich_click as click

from edgewise.cli.common import RUN, TABLE, heading, one_line_errors, options, print_facts
from edgewise.common.text import counted, text_table

if TYPE_CHECKING:
    from edgewise.common.dtypes import Reals
    from edgewise.estimators import RankBoost
    from edgewise.io import RankingData
    from edgewise.metrics import Lists

METRICS = ("map", "ndcg@5", "ndcg@10", "mrr", "precision@10")
"""Metrics of a test, besides the metric of the model."""

# Below this share of stored values, a sparse matrix is smaller.
_SPARSE = 1 / 3

Roles = dict[str, str | None]
"""The names of the columns of a table that are not features, by role."""

ROLES = ("target", "query", "doc")
_column = heading("Columns of tables")
columns = options(
    _column("--target", metavar="COL", help="Column with relevance grades."),
    _column("--query", metavar="COL", help="Column with query ids.  [default: a single query]"),
    _column("--doc", metavar="COL", help="Column with document ids, for run files."),
)


@dataclass(frozen=True)
class Documents:
    """The documents of a file, and their grades by query if there are any."""

    path: str
    data: "RankingData"
    lists: "Lists | None" = None

    def __str__(self) -> str:
        n_queries = 1 if self.data.qid is None else self.data.n_queries
        return f"{counted(n_queries, 'queries')}, {counted(len(self.data), 'documents')}"

    @property
    def judged(self) -> "Lists":
        """The grades by query of a file that has grades."""
        assert self.lists is not None
        return self.lists

    @property
    def rows(self) -> tuple[Any, "Reals", Any]:
        """The features, grades and query ids that a ranker trains on; equal ids are one list."""
        return self.data.X, self.judged.grades, self.judged.queries[self.judged.row_query]


def is_table(path: str) -> bool:
    """Return whether a file is a table, going by its name."""
    return path.lower().endswith(TABLE)


def check_roles(roles: Roles, path: str) -> None:
    """Raise if a column is named and the file is not a table."""
    for role, column in roles.items():
        if column is not None and not is_table(path):
            raise click.UsageError(f"--{role} is for tables ({', '.join(TABLE)})")


def read_judged(paths: Sequence[str], roles: Roles) -> list[Documents]:
    """Read files of judged documents, all LETOR or all tables; the first decides the features."""
    parts = [_read(path, roles) for path in paths]
    if is_table(paths[0]):
        names = list(parts[0].X.columns)
        parts = [
            _with_columns(part, path, names, paths[0])
            for part, path in zip(parts, paths, strict=True)
        ]
    else:
        # A line may leave out its last features, which are 0.
        width = max(part.X.shape[1] for part in parts)
        sparse = is_sparse(parts[0].X, width)
        parts = [replace(part, X=widened(part.X, width, sparse)) for part in parts]
    return [_checked(path, part, "raise") for path, part in zip(paths, parts, strict=True)]


def read_for_model(path: str, roles: Roles, model: "RankBoost", model_path: str) -> Documents:
    """Read documents with the features of a model; they have grades if the file has."""
    names = getattr(model, "feature_names_in_", None)
    if is_table(path) and names is None:
        raise click.ClickException(
            f"{path} is a table, but the features of {model_path} have numbers: use a LETOR file"
        )
    if not is_table(path) and names is not None:
        raise click.ClickException(
            f"{path} is a LETOR file, but the features of {model_path} have names: use a table "
            f"({', '.join(TABLE)})"
        )
    if names is not None:
        for role, column in roles.items():
            if column in names:
                raise click.UsageError(
                    f"--{role}: {column!r} is a feature of the model {model_path}"
                )
        part = _with_columns(_read(path, roles), path, names.tolist(), model_path)
    else:
        part = _read(path, roles)
        n_features, width = part.X.shape[1], model.n_features_in_
        if n_features > width:
            raise click.ClickException(
                f"{path} has {n_features} features, more than the {width} of {model_path}"
            )
        part = replace(part, X=widened(part.X, width, is_sparse(part.X, width)))
    return _checked(path, part, model.handle_infinite)


def _read(path: str, roles: Roles) -> "RankingData":
    from edgewise.io import read_letor, read_table

    with one_line_errors(names={role: f"--{role}" for role in ROLES}):
        return read_table(path, **roles) if is_table(path) else read_letor(path, sparse=True)


def _with_columns(part: "RankingData", path: str, names: list[str], owner: str) -> "RankingData":
    there = set(part.X.columns)
    missing = [name for name in names if name not in there]
    if missing:
        raise click.ClickException(f"{path} lacks the column {missing[0]!r}, which {owner} has")
    return replace(part, X=part.X[names])


def is_sparse(X: Any, width: int) -> bool:
    """Return whether a sparse matrix, widened, takes less memory than an array."""
    return bool(X.nnz < _SPARSE * X.shape[0] * width)


def widened(X: Any, width: int, sparse: bool) -> Any:
    """Return a sparse matrix with more columns, or the array of it."""
    wide = type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
    return wide if sparse else wide.toarray()


def _checked(path: str, data: "RankingData", infinite: str) -> Documents:
    """Return the documents; wrong values are found now, not after training."""
    from edgewise.data import as_table
    from edgewise.metrics import Lists

    with one_line_errors(path):
        for _ in as_table(data.X, infinite).columns():
            pass
        return Documents(path, data, None if data.y is None else Lists(data.y, data.qid))


def check_output(path: str | None, documents: Documents) -> None:
    """Raise, before any work starts, if a run of these documents cannot be written."""
    if path is None or not path.endswith(RUN):
        return
    from edgewise.io import check_run

    data = documents.data
    if data.docs is None or data.qid is None:
        raise click.ClickException(
            f"--output {path}: a run needs query ids and document ids, and {documents.path} has "
            "none; another ending than .run writes one score a line"
        )
    with one_line_errors(f"{documents.path} does not make a run"):
        check_run(data.qid, data.docs)


def score(documents: Documents, model: "RankBoost", path: str | None) -> "Reals":
    """Return the scores of documents, and write them if there is a path."""
    from edgewise.common.files import replacing
    from edgewise.io import write_run

    data = documents.data
    with one_line_errors(documents.path):
        scores = model.predict(data.X)
    if path is not None and path.endswith(RUN):
        assert data.qid is not None
        assert data.docs is not None
        write_run(path, data.qid, data.docs, scores)
    elif path is not None:
        with replacing(path) as stream:
            stream.writelines(f"{score!r}\n".encode() for score in scores.tolist())
    return scores


def print_test(documents: Documents, scores: "Reals", metric: str) -> None:
    """Print how well scores rank documents, by the usual metrics and by the model's own."""
    print_facts([("test", f"{documents}; expected over ties:")])
    values = test_values(documents.judged, scores, metric)
    cells = ["-" if value is None else f"{value:.4f}" for value in values.values()]
    click.echo(text_table([["", *values], ["", *cells]]))


def metric_of(model: Any) -> str:
    """Return the name of the metric of a ranker, "map" for a function."""
    from edgewise.metrics.registry import first_metric

    metric = first_metric(model.eval_metric)
    return metric if isinstance(metric, str) else METRICS[0]


def test_values(lists: "Lists", scores: "Reals", metric: str) -> dict[str, float | None]:
    """Return the usual metrics and another of scores; None where grades have no such value."""
    from edgewise.metrics import ranking_metric

    found: dict[str, float | None] = {}
    for name in dict.fromkeys((*METRICS, metric)):
        try:
            found[name] = float(ranking_metric(name)(lists, scores))
        except ValueError:
            # Negative grades have no gain.
            found[name] = None
    return found

"""Documents to rank, from LETOR files or tables, and their scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rich_click as click

from edgewise.cli import tables
from edgewise.cli.common import RUN, TABLE, heading, one_line_errors, options, print_facts
from edgewise.cli.ratings import check_libraries, write_columns
from edgewise.cli.tables import Rows, is_table, test_values
from edgewise.common.text import pluralize, text_table

if TYPE_CHECKING:
    from edgewise.common.dtypes import Reals
    from edgewise.estimators import RankBoost
    from edgewise.io import Schema
    from edgewise.metrics import Lists

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

    rows: Rows
    lists: "Lists | None" = None

    def __str__(self) -> str:
        import numpy as np

        qid = self.rows.qid
        n_queries = 1 if qid is None else len(np.unique(qid))
        return f"{pluralize(n_queries, 'queries')}, {pluralize(len(self.rows), 'documents')}"

    @property
    def path(self) -> str:
        """The file."""
        return self.rows.path

    @property
    def judged(self) -> "Lists":
        """The grades by query of a file that has grades."""
        assert self.lists is not None
        return self.lists

    @property
    def examples(self) -> tuple[Any, "Reals", Any]:
        """The features, grades and query ids that a ranker trains on; equal ids are one list."""
        return self.rows.X, self.judged.grades, self.judged.queries[self.judged.row_query]


def check_roles(roles: Roles, path: str) -> None:
    """Raise if a column is named and the file is not a table."""
    from edgewise.io.tables import SUFFIXES

    for role, column in roles.items():
        if column is not None and not is_table(path):
            raise click.UsageError(f"--{role} is for tables ({', '.join(SUFFIXES)})")


def read_judged(paths: Sequence[str], roles: Roles) -> "tuple[list[Documents], Schema | None]":
    """Read files of judged documents, all LETOR or all tables; the first decides the features."""
    from edgewise.io import read_letor

    schema = None
    if is_table(paths[0]):
        schema, parts = _read_tables(paths, roles)
    else:
        with one_line_errors():
            found = [read_letor(path, sparse=True) for path in paths]
        # A line may leave out its last features, which are 0.
        width = max(data.X.shape[1] for data in found)
        sparse = tables.is_sparse(found[0].X, width)
        parts = [
            Rows(path, tables.widened(data.X, width, sparse), data.y, data.qid, data.docs)
            for path, data in zip(paths, found, strict=True)
        ]
    return [_checked(part, "raise") for part in parts], schema


def _read_tables(paths: Sequence[str], roles: Roles) -> "tuple[Schema, list[Rows]]":
    """Read tables; the first says what the columns are."""
    from edgewise.io import Schema

    target, query, doc = (roles[role] for role in ROLES)
    raw = tables.read_raw(paths[0], [name for name in (query, doc) if name is not None])
    if query is None:
        others = [name for name in raw.columns if name != target]
        if said := tables.forgotten_queries(paths[0], others):
            raise click.UsageError(said)
    with one_line_errors(paths[0], tables.OPTIONS):
        schema = Schema.fit(raw, str(target), task="grades", query=query, doc=doc)
    parts = [tables.rows_of(paths[0], raw, schema)]
    for path in paths[1:]:
        raw = tables.read_raw(path, schema.words)
        parts.append(tables.rows_of(path, raw, schema))
        tables.note(path, raw, schema)
    return schema, parts


def read_for_model(path: str, roles: Roles, model: "RankBoost", model_path: str) -> Documents:
    """Read documents with the features of a model; those of LETOR files have grades."""
    others = dict(roles)
    named = others.pop("target")
    target = () if named is None else (named,)
    judged = bool(target) or not is_table(path)
    rows = tables.read_for(path, model, model_path, target, judged, **others)
    return _checked(rows, model.handle_infinite)


def _checked(rows: Rows, infinite: str) -> Documents:
    """Return the documents; wrong values are found now, not after training."""
    from edgewise.data import as_table
    from edgewise.metrics import Lists

    with one_line_errors(rows.path):
        for _ in as_table(rows.X, infinite).columns():
            pass
        return Documents(rows, None if rows.y is None else Lists(rows.y, rows.qid))


def check_output(path: str | None, rows: Rows) -> None:
    """Raise, before any work starts, if the scores of these documents cannot be written."""
    if path is None:
        return
    if not path.lower().endswith(RUN):
        check_libraries(path)
        if rows.n_left_out:
            raise click.UsageError(
                f"--output {path}: {pluralize(rows.n_left_out, 'rows')} of {rows.path} without a "
                "grade would have no score; give them a grade, or write a run (.run)"
            )
        return
    from edgewise.io import check_run

    if rows.docs is None or rows.qid is None:
        lacks = [
            name for name, part in (("query", rows.qid), ("document", rows.docs)) if part is None
        ]
        way = "add --query and --doc, or" if is_table(rows.path) else "to write one score a line,"
        raise click.UsageError(
            f"--output {path}: a run needs {' and '.join(lacks)} ids, which {rows.path} lacks: "
            f"{way} give a name with another ending than .run"
        )
    with one_line_errors(f"{rows.path} does not make a run"):
        check_run(rows.qid, rows.docs)


def write_scores(path: str, rows: Rows, found: dict[str, Any]) -> None:
    """Write predictions of documents: a run or a table if the name says so; else scores alone."""
    from edgewise.common.files import replace_file
    from edgewise.io import write_run

    scores: Reals = found["score"]
    if path.lower().endswith(RUN):
        write_run(path, rows.qid, rows.docs, scores)
        return
    if path.lower().endswith(TABLE):
        write_columns(path, found)
        return
    with replace_file(path) as stream:
        stream.writelines(f"{score!r}\n".encode() for score in scores.tolist())


def print_test(documents: Documents, scores: "Reals", metric: str) -> None:
    """Print how well scores rank documents, by the usual metrics and by the model's own."""
    print_facts([("test", f"{documents}; expected over ties:")])
    values = test_values(documents.judged, scores, metric)
    cells = ["-" if value is None else f"{value:.4f}" for value in values.values()]
    click.echo(text_table([["", *values], ["", *cells]]))

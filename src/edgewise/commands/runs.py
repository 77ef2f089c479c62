"""TREC runs as files, and the names of the systems that made them."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgewise.commands.errors import CommandError, in_one_line
from edgewise.commands.paths import stem
from edgewise.io import Qrels, Run, read_qrels, read_run, write_run


def read_runs(paths: Sequence[str]) -> list[Run]:
    """Read runs.

    Raises
    ------
    CommandError
        If a file is no run.
    """
    with in_one_line():
        return [read_run(path) for path in paths]


def read_judgements(path: str) -> Qrels:
    """Read judgements; a grade below 0, which means not judged, becomes 0.

    Raises
    ------
    CommandError
        If the file does not hold any.
    """
    with in_one_line():
        qrels = read_qrels(path)
    return Qrels(qrels.queries, qrels.docs, np.maximum(qrels.grades, 0))


def file_names(paths: Sequence[str]) -> list[str]:
    """Return a name for each file: without folder and endings where that tells them apart.

    Examples
    --------
    >>> file_names(["runs/bm25.run", "runs/lm.run.gz"])
    ['bm25', 'lm']
    >>> file_names(["old/bm25.run", "new/bm25.run"])
    ['old/bm25.run', 'new/bm25.run']
    """
    short = [stem(path) for path in paths]
    return short if len(set(short)) == len(short) else list(paths)


def system_tags(runs: Sequence[Run]) -> list[str] | None:
    """Return the tags of runs, or None where they don't tell the runs apart."""
    tags = [np.unique(run.tags).tolist() for run in runs]
    single = [names[0] for names in tags if len(names) == 1]
    return single if len(set(single)) == len(runs) else None


def named(paths: Sequence[str], runs: Sequence[Run]) -> dict[str, Run]:
    """Return runs by the names of their systems.

    A name is the tag, the last column of the file, if each file has one and they are all
    different; otherwise that of the file, without folder and endings.

    Raises
    ------
    CommandError
        If that does not tell the runs apart.
    """
    names = system_tags(runs)
    if names is None:
        names = [stem(path) for path in paths]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise CommandError(
                    f"two runs are called {name!r}: give them different tags or file names"
                )
    return dict(zip(names, runs, strict=True))


def named_as(
    known: Sequence[str], paths: Sequence[str], runs: Sequence[Run], model: str
) -> dict[str, Run]:
    """Return runs by the names that a model knows, in its order: their tags or their files'.

    Raises
    ------
    CommandError
        If neither are those names.
    """
    tags, stems = system_tags(runs), [stem(path) for path in paths]
    for names in (tags, stems):
        if names is not None and len(names) == len(known) and set(names) == set(known):
            found = dict(zip(names, runs, strict=True))
            return {name: found[name] for name in known}
    raise CommandError(
        f"{model} fuses the runs {', '.join(known)}; these are called {', '.join(tags or stems)}"
    )


def rehearse(qid: NDArray, docs: NDArray) -> None:
    """Raise the ValueError that writing a run of these queries and documents would raise."""
    with tempfile.TemporaryDirectory() as folder:
        write_run(Path(folder) / "rehearsal.run", qid, docs, np.zeros(len(qid)))

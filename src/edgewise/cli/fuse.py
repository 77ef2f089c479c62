"""``edgewise fuse``: several TREC runs into one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from edgewise.cli.common import (
    FILE,
    MODEL,
    MODEL_FILE,
    OutputFile,
    argument,
    boosting,
    command,
    heading,
    load_model,
    one_line_errors,
    print_facts,
    print_rules,
    raise_if_interrupted,
    training_facts,
    verbosity,
)
from edgewise.cli.evaluate import Report, read_runs, stem
from edgewise.common.text import counted
from edgewise.fusion import FUSIONS, RankedLists
from edgewise.fusion import fuse as fuse_lists
from edgewise.io import Qrels, Run, check_run, write_run

if TYPE_CHECKING:
    from edgewise.estimators import RankFusion

RANKBOOST = "rankboost"

_TOP_RULES = 5
_METRICS = "map,ndcg@10,mrr,precision@10"

files, training = heading("Files"), heading("Training")


@command("fuse")
@argument(
    "run",
    nargs=-1,
    required=True,
    type=FILE,
    metavar="[MODEL] RUN RUN...",
    help="Two runs or more, lines of `query Q0 document rank score tag`; a saved model may stand "
    "before them.",
)
@files("--qrels", type=FILE, help="Judgements, lines of `query 0 document grade`.")
@files("--output", "-o", type=OutputFile(), help="Write the fused run here.")
@files("--model", type=MODEL_FILE, help="Save the model here; the name must end in .edgewise.")
@heading("Fusion")(
    "--method",
    type=click.Choice((RANKBOOST, *FUSIONS)),
    metavar="NAME",
    default=RANKBOOST,
    help=f"One of {', '.join((RANKBOOST, *FUSIONS))}.",
)
@boosting(training)
def fuse(
    run: tuple[str, ...],
    qrels: str | None,
    output: str | None,
    model: str | None,
    method: str,
    **settings: Any,
) -> None:
    """Fuse TREC runs into one.

      edgewise fuse bm25.run lm.run --method rrf -o fused.run
          fuses without training
      edgewise fuse bm25.run lm.run --qrels qrels.txt --model fusion.edgewise
          learns from judgements which runs to trust, and how far down (RankFusion)
      edgewise fuse fusion.edgewise new/bm25.run new/lm.run -o fused.run
          fuses runs of other queries with the saved model

    With --qrels, the runs and their fusion are evaluated as `edgewise evaluate`
    does it; after training, on the training queries.

    A run is named by its tag, the last column, if every file has one tag and all
    tags differ; otherwise by its file, without folder and ending. A model takes
    runs with the names that it was trained on, in any order.

    Ctrl-C ends the training: the rounds so far are used and saved, and the exit
    code is 130.
    """
    saved, paths = (run[0], run[1:]) if run[0].endswith(MODEL) else (None, run)
    _check(saved, paths, qrels, output, model, method)
    runs = read_runs(paths)
    fusion = None if saved is None else _fusion(saved)
    systems = _named(paths, runs) if fusion is None else _known(fusion, str(saved), paths, runs)
    report = None if qrels is None else Report(qrels, _METRICS)
    if report is not None:
        for name, one in systems.items():
            report.add(name, one)
    with one_line_errors():
        lists = RankedLists.from_runs(systems)
        if output is not None:
            assert lists.docs is not None
            check_run(lists.qid, lists.docs)
    if method == RANKBOOST:
        if fusion is None:
            assert report is not None
            fusion = _trained(lists, report, settings)
        scores = fusion.predict(lists)
    else:
        scores = fuse_lists(lists, method)
    fused = _as_run(lists, scores, f"edgewise-{method}")
    if model is not None and fusion is not None:
        fusion.save(model)
    if output is not None:
        write_run(output, fused.queries, fused.docs, fused.scores, str(fused.tags[0]))
    _print(lists, method, fusion)
    if report is not None:
        report.add(f"fused by {method}", fused)
        click.echo()
        report.print()
    if fusion is not None:
        print_rules(fusion, _TOP_RULES)
        if saved is None:
            raise_if_interrupted(fusion)


def _check(
    saved: str | None,
    runs: Sequence[str],
    qrels: str | None,
    output: str | None,
    model: str | None,
    method: str,
) -> None:
    """Raise if options do not go together."""
    if len(runs) < 2:
        raise click.UsageError("fuse needs two runs or more")
    if method != RANKBOOST and (saved or model):
        raise click.UsageError(f"--method {method} has no model: remove {saved or '--model'}")
    if saved and model:
        raise click.UsageError(f"--model: {saved} is trained already")
    if method == RANKBOOST and not saved and not qrels:
        raise click.UsageError(
            f"--method {RANKBOOST} learns from judgements: add --qrels or a saved model, or use a "
            "method without training, such as --method rrf"
        )
    if not (output or model or qrels):
        raise click.UsageError("nothing to do: add --output to write the fused run")


def _tags(runs: Sequence[Run]) -> list[str] | None:
    """Return the tags of runs, or None if they do not tell the runs apart."""
    tags = [np.unique(run.tags).tolist() for run in runs]
    single = [names[0] for names in tags if len(names) == 1]
    return single if len(set(single)) == len(runs) else None


def _named(paths: Sequence[str], runs: Sequence[Run]) -> dict[str, Run]:
    """Return runs by name: their tags, or the names of their files."""
    names = _tags(runs) or [stem(path) for path in paths]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise click.ClickException(
                f"two runs are named {name!r}: give them different tags or file names"
            )
    return dict(zip(names, runs, strict=True))


def _known(
    fusion: "RankFusion", path: str, paths: Sequence[str], runs: Sequence[Run]
) -> dict[str, Run]:
    """Return runs by the names that a model knows, in its order."""
    known = list(fusion.list_names_)
    tags, stems = _tags(runs), [stem(path) for path in paths]
    for names in (tags, stems):
        if names is not None and sorted(names) == sorted(known):
            found = dict(zip(names, runs, strict=True))
            return {name: found[name] for name in known}
    raise click.ClickException(
        f"{path} fuses the runs {', '.join(known)}, got {', '.join(tags or stems)}"
    )


def _fusion(path: str) -> "RankFusion":
    from edgewise import RankFusion

    model = load_model(path)
    if not isinstance(model, RankFusion):
        raise click.ClickException(f"{path} holds {type(model).__name__}, which does not fuse runs")
    return model


def _trained(lists: RankedLists, report: Report, settings: dict[str, Any]) -> "RankFusion":
    from edgewise import RankFusion

    # A grade below 0 means not judged.
    qrels = report.qrels
    judgements = Qrels(qrels.queries, qrels.docs, np.maximum(qrels.grades, 0))
    fusion = RankFusion(verbose=verbosity(), **settings)
    with one_line_errors(report.path):
        fusion.fit(lists, judgements)
    if not fusion.n_rounds_:
        raise_if_interrupted(fusion)
    return fusion


def _as_run(lists: RankedLists, scores: Any, tag: str) -> Run:
    ranks = np.zeros(len(lists), dtype=np.int64)
    docs: Any = lists.docs
    fused = Run(lists.qid, docs, ranks, scores, np.full(len(lists), tag))
    return Run(fused.queries, fused.docs, fused.positions(), fused.scores, fused.tags)


def _print(lists: RankedLists, method: str, fusion: "RankFusion | None") -> None:
    counts = counted(len(lists.queries.ids), "queries"), counted(len(lists), "documents")
    print_facts(
        [
            ("runs", f"{lists.n_lists}: {', '.join(lists.names)}"),
            ("fused", f"{', '.join(counts)}, by {method}"),
            *([] if fusion is None else training_facts(fusion)),
        ]
    )

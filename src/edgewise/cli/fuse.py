"""``edgewise fuse``: several TREC runs into one."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import rich_click as click
from click import get_current_context

from edgewise.cli import common
from edgewise.cli.common import FILE, heading, one_line_errors
from edgewise.cli.evaluate import Report, read_runs, stem
from edgewise.common.choices import FUSIONS
from edgewise.common.text import counted

if TYPE_CHECKING:
    from edgewise.estimators import RankFusion
    from edgewise.fusion import RankedLists
    from edgewise.io import Run

RANKBOOST = "rankboost"
METHODS = (RANKBOOST, *FUSIONS)

_TOP_RULES = 5
_METRICS = "map,ndcg@10,mrr,precision@10"

files, training = heading("Files"), heading("Training")


@common.command("fuse")
@click.argument(
    "run",
    nargs=-1,
    required=True,
    type=FILE,
    metavar="[MODEL] RUN RUN...",
    help="Two runs or more, lines of `query Q0 document rank score tag`; a saved model may come "
    "before them.",
)
@files("--qrels", type=FILE, help="Judgements, lines of `query 0 document grade`.")
@files("--output", "-o", type=common.OutputFile(), help="Write the fused run here.")
@common.model_file(files)
@heading("Fusion")(
    "--method", choices=METHODS, metavar="NAME", help=f"One of {', '.join(METHODS)}."
)
@common.boosting(training)
@common.json_option(training)
def fuse(
    run: tuple[str, ...],
    qrels: str | None,
    output: str | None,
    model: str | None,
    method: str,
    as_json: bool,
    **settings: Any,
) -> None:
    """Fuse TREC runs into one.

      edgewise fuse bm25.run lm.run --method rrf -o fused.run
          fuses without training
      edgewise fuse bm25.run lm.run --qrels qrels.txt --model fusion.edgewise
          learns from judgements which runs to trust, and how far down
      edgewise fuse fusion.edgewise new/bm25.run new/lm.run -o fused.run
          fuses runs of other queries with the saved model

    With --qrels, the runs and their fusion are evaluated as by `edgewise
    evaluate`; after training, on the training queries.

    A run is named by its tag, the last column, if every file has one tag and all
    tags differ; otherwise by its file, without folder and ending. A model takes
    runs with the names that it was trained on, in any order.

    Ctrl-C ends the training: the rounds so far are used and saved, and the exit
    code is 130.
    """
    import numpy as np

    from edgewise.fusion import RankedLists
    from edgewise.fusion import fuse as fuse_lists
    from edgewise.io import Run, check_run, write_run

    saved, paths = (run[0], run[1:]) if run[0].endswith(common.MODEL) else (None, run)
    _check(saved, paths, SimpleNamespace(**get_current_context().params))
    runs = read_runs(paths)
    fusion = None if saved is None else common.load_model(saved, "RankFusion", "fuse runs")
    systems = _named(paths, runs) if fusion is None else _known(fusion, str(saved), paths, runs)
    report = None if qrels is None else Report(qrels, _METRICS)
    if report is not None:
        for name, one in systems.items():
            report.add(name, one)
    with one_line_errors():
        lists = RankedLists.from_runs(systems)
        docs: Any = lists.docs
        if output is not None:
            check_run(lists.qid, docs)
    if method == RANKBOOST:
        if fusion is None:
            assert report is not None
            fusion = _trained(lists, report, settings)
        scores = fusion.predict(lists)
    else:
        scores = fuse_lists(lists, method)
    if model is not None and fusion is not None:
        fusion.save(model)
    if output is not None:
        write_run(output, lists.qid, docs, scores, f"edgewise-{method}")
    if report is not None:
        # An evaluation sorts by score.
        unranked = np.zeros(len(lists), dtype=np.int64)
        report.add(f"fused by {method}", Run(lists.qid, docs, unranked, scores, lists.qid))
    if as_json:
        means = {} if report is None else {name: one.means for name, one in report.runs.items()}
        common.print_json({"documents": len(lists), "method": method, "metrics": means})
        if fusion is not None and saved is None:
            common.raise_if_interrupted(fusion)
        return
    counts = counted(len(lists.queries.ids), "queries"), counted(len(lists), "documents")
    common.print_facts(
        [
            ("runs", f"{lists.n_lists}: {', '.join(lists.names)}"),
            ("fused", f"{', '.join(counts)}, by {method}"),
            *([] if fusion is None else common.training_facts(fusion)),
        ]
    )
    if report is not None:
        click.echo()
        click.echo(report.evaluation().table())
    if fusion is not None:
        common.print_rules(fusion, _TOP_RULES)
        if saved is None:
            common.raise_if_interrupted(fusion)


def _check(saved: str | None, runs: Sequence[str], args: SimpleNamespace) -> None:
    """Raise if options do not go together."""
    if len(runs) < 2:
        raise click.UsageError("fuse needs two runs or more")
    if args.method != RANKBOOST and (saved or args.model):
        extra = saved or "--model"
        raise click.UsageError(f"--method {args.method} has no model: remove {extra}")
    if saved and args.model:
        raise click.UsageError(f"--model: {saved} is trained already")
    if args.method == RANKBOOST and not saved and not args.qrels:
        raise click.UsageError(
            f"--method {RANKBOOST} learns from judgements: add --qrels or a saved model, or use a "
            "method without training, such as --method rrf"
        )
    if not (args.output or args.model or args.qrels):
        raise click.UsageError("nothing to do: add --output to write the fused run")


def _tags(runs: "Sequence[Run]") -> list[str] | None:
    """Return the tags of runs, or None if they do not tell the runs apart."""
    tags = [set(run.tags.tolist()) for run in runs]
    single = [names.pop() for names in tags if len(names) == 1]
    return single if len(set(single)) == len(runs) else None


def _named(paths: Sequence[str], runs: "Sequence[Run]") -> "dict[str, Run]":
    """Return runs by name: their tags, or the names of their files."""
    names = _tags(runs) or [stem(path) for path in paths]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise click.ClickException(
                f"two runs are named {name!r}: give them different tags or file names"
            )
    return dict(zip(names, runs, strict=True))


def _known(
    fusion: "RankFusion", path: str, paths: Sequence[str], runs: "Sequence[Run]"
) -> "dict[str, Run]":
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


def _trained(lists: "RankedLists", report: Report, settings: dict[str, Any]) -> "RankFusion":
    from edgewise import RankFusion

    fusion = RankFusion(verbose=common.verbosity(), **settings)
    with one_line_errors(report.path):
        fusion.fit(lists, report.qrels)
    if not fusion.n_rounds_:
        common.raise_if_interrupted(fusion)
    return fusion

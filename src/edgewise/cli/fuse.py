"""``edgewise fuse``: several TREC runs into one."""

import logging
from collections.abc import Sequence
from itertools import combinations
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import rich_click as click
from click import get_current_context

from edgewise.cli import common
from edgewise.cli.common import FILE, heading, one_line_errors
from edgewise.cli.evaluate import Report, read_runs, stem
from edgewise.common.choices import (
    DEFAULT_RANKING_METRICS,
    FUSION_VALUES,
    FUSIONS,
    MONOTONIC,
    RANK_LEARNERS,
)
from edgewise.common.text import pluralize

if TYPE_CHECKING:
    from edgewise.estimators import RankFusion
    from edgewise.fusion import RankedLists
    from edgewise.io import Qrels, Run

RANKBOOST = "rankboost"
METHODS = (RANKBOOST, *FUSIONS)
WEIGHTED = ("borda", "comb_mnz", "comb_sum", "rrf")

_TOP_RULES = 5

logger = logging.getLogger("edgewise")

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
@files(
    "--qrels",
    type=FILE,
    help="Judgments, lines of `query 0 document grade`, to learn from; without training, to "
    "evaluate by.",
)
@files("--validate", type=FILE, help="Judgments of other queries, to choose the rounds on.")
@files("--test", type=FILE, help="Judgments of queries to test on.")
@files("--output", "-o", type=common.OutputFile(), help="Write the fused run here.")
@common.model_file(files)
@heading("Fusion")(
    "--method", choices=METHODS, metavar="NAME", help=f"One of {', '.join(METHODS)}."
)
@heading("Fusion")(
    "--weights",
    type=common.Real(),
    metavar="X",
    multiple=True,
    help=f"Weight of each run, in their order, for {', '.join(WEIGHTED)}.",
)
@common.boosting(training)
@training(
    "--learner",
    choices=RANK_LEARNERS,
    help="Weak rules to boost; auto takes what validation prefers, thresholds or values.",
)
@training(
    "--values",
    choices=FUSION_VALUES,
    multiple=True,
    default=None,
    help="What counts on a run; by default ranks, reciprocal where values are taken as they are.",
)
@training(
    "--monotonic-cst",
    choices=MONOTONIC,
    help="Direction of every run: learned, increasing or unconstrained.",
)
@common.json_option(training)
def fuse(
    run: tuple[str, ...],
    qrels: str | None,
    validate: str | None,
    test: str | None,
    output: str | None,
    model: str | None,
    method: str,
    weights: tuple[float, ...],
    as_json: bool,
    **settings: Any,
) -> None:
    """Fuse TREC runs into one.

      edgewise fuse bm25.run lm.run --method rrf -o fused.run
          fuses without training
      edgewise fuse bm25.run lm.run --qrels qrels.txt --model fusion.edgewise
          learns from judgments which runs to trust, and how far down
      edgewise fuse fusion.edgewise new/bm25.run new/lm.run -o fused.run
          fuses runs of other queries with the saved model

    With --qrels, the runs and their fusion are evaluated as by `edgewise
    evaluate`. After training these are figures of the training queries, which
    promise too much: --test judges queries that training has not seen, and
    --validate those that choose the number of rounds. Each of these files judges
    queries of the same runs.

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
    parts = {"training": qrels, "validation": validate, "test": test}
    reports = {
        part: Report(path, ",".join(DEFAULT_RANKING_METRICS))
        for part, path in parts.items()
        if path is not None
    }
    _check_apart(reports)
    _evaluate(systems, reports)
    with one_line_errors():
        lists = RankedLists.from_runs(systems)
        docs: Any = lists.docs
        if output is not None:
            check_run(lists.qid, docs)
    if method == RANKBOOST:
        if fusion is None:
            fusion = _trained(lists, reports, settings)
        scores = fusion.predict(lists)
    else:
        with one_line_errors(names={"weights": "--weights"}):
            scores = fuse_lists(lists, method, **({"weights": weights} if weights else {}))
    if model is not None and fusion is not None:
        fusion.save(model)
    if output is not None:
        write_run(output, lists.qid, docs, scores, f"edgewise-{method}")
    # An evaluation sorts by score.
    unranked = np.zeros(len(lists), dtype=np.int64)
    fused = Run(lists.qid.astype(str), docs, unranked, scores, lists.qid)
    _evaluate({f"fused by {method}": fused}, reports)
    learned = fusion is not None and saved is None
    if as_json:
        common.print_json(_result(lists, method, reports, learned))
    else:
        _print(lists, method, reports, fusion, learned)
    if fusion is not None and learned:
        common.raise_if_interrupted(fusion)


def _check(saved: str | None, runs: Sequence[str], args: SimpleNamespace) -> None:
    """Raise if options do not go together."""
    if len(runs) < 2:
        raise click.UsageError("fuse needs two runs or more")
    if args.method != RANKBOOST and (saved or args.model):
        remove = saved or "--model"
        raise click.UsageError(f"--method {args.method} has no model: remove {remove}")
    if args.weights and args.method not in WEIGHTED:
        raise click.UsageError(f"--weights is for --method {', '.join(WEIGHTED)}")
    if args.weights and len(args.weights) != len(runs):
        raise click.UsageError(f"--weights has {len(args.weights)} numbers for {len(runs)} runs")
    if saved and args.model:
        raise click.UsageError(f"--model: {saved} is trained already")
    if args.method == RANKBOOST and not saved and not args.qrels:
        raise click.UsageError(
            f"--method {RANKBOOST} learns from judgments: add --qrels or a saved model, or use a "
            "method without training, such as --method rrf"
        )
    common.needs(["validate", "test"], "qrels")
    common.needs(["early_stopping_rounds"], "validate")
    if args.method != RANKBOOST or saved:
        names = ("validate", "early_stopping_rounds", "learner", "values", "monotonic_cst")
        if extra := common.given(*names):
            raise click.UsageError(f"{extra[0]} is for training, and nothing is trained here")
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
        if names is not None and len({*names}) == len(names) and {*names} <= {*known}:
            found = dict(zip(names, runs, strict=True))
            for name in known:
                if name not in found:
                    logger.warning("the run %r of %s is absent: it returns nothing", name, path)
            return {name: found[name] for name in known if name in found}
    raise click.ClickException(
        f"{path} fuses the runs {', '.join(known)}, got {', '.join(tags or stems)}"
    )


def _evaluate(systems: "dict[str, Run]", reports: "dict[str, Report]") -> None:
    """Add runs to the reports, each with the queries that its file judges."""
    for report in reports.values():
        for name, one in systems.items():
            report.add(name, _judged(one, report) if len(reports) > 1 else one)


def _judged(run: "Run", report: Report) -> "Run":
    """Return the part of a run that has judgments in a file: others judge the rest."""
    import numpy as np

    from edgewise.io import Run

    kept = np.isin(run.queries, np.unique(report.qrels.queries))
    ids = run.queries[kept], run.docs[kept]
    return Run(*ids, run.ranks[kept], run.scores[kept], run.tags[kept])


def _check_apart(reports: "dict[str, Report]") -> None:
    """Raise if two files judge the same query."""
    for first, second in combinations(reports.values(), 2):
        both = {*first.qrels.queries.tolist()} & {*second.qrels.queries.tolist()}
        if both:
            raise click.ClickException(
                f"{first.path} and {second.path} both judge the query {min(both)}: the queries to "
                "train, validate and test on must be different ones"
            )


def _trained(
    lists: "RankedLists", reports: "dict[str, Report]", settings: dict[str, Any]
) -> "RankFusion":
    import numpy as np

    from edgewise import RankFusion

    settings["values"] = list(settings["values"]) or None

    def part(name: str) -> "tuple[RankedLists, Qrels]":
        queries = np.unique(reports[name].qrels.queries)
        some = lists if len(reports) == 1 else lists.take(np.isin(lists.qid.astype(str), queries))
        return some, reports[name].qrels

    validates = "validation" in reports
    if validates:
        settings["early_stopping_rounds"] = settings["early_stopping_rounds"] or common.PATIENCE
    fusion = RankFusion(verbose=common.verbosity(), **settings)
    with one_line_errors(reports["training"].path, {"values": "--values"}):
        fusion.fit(*part("training"), eval_set=part("validation") if validates else None)
    if not fusion.n_rounds_:
        common.raise_if_interrupted(fusion)
    return fusion


def _result(
    lists: "RankedLists", method: str, reports: "dict[str, Report]", learned: bool
) -> dict[str, Any]:
    """Return what is printed, for programs."""
    means = {
        part: {name: one.means for name, one in report.runs.items()}
        for part, report in reports.items()
    }
    found = {"documents": len(lists), "method": method, "metrics": means.pop("training", {})}
    if learned:
        found["metrics_are_of_training_queries"] = True
    return {**found, **means}


def _print(
    lists: "RankedLists",
    method: str,
    reports: "dict[str, Report]",
    fusion: "RankFusion | None",
    learned: bool,
) -> None:
    counts = pluralize(len(lists.queries.ids), "queries"), pluralize(len(lists), "documents")
    common.print_facts(
        [
            ("runs", f"{lists.n_lists}: {', '.join(lists.names)}"),
            ("fused", f"{', '.join(counts)}, by {method}"),
            *([] if fusion is None else common.training_facts(fusion)),
        ]
    )
    for part, report in reports.items():
        click.echo()
        if learned:
            seen = {"training": " (which the fusion was trained on)"}.get(part, "")
            click.echo(f"{part} queries{seen}:")
        click.echo(report.evaluation().summary())
    if fusion is not None:
        common.print_rules(fusion, _TOP_RULES)

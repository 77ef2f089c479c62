"""``edgewise fuse``: several TREC runs into one."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from edgewise.cli import common, params
from edgewise.cli.common import one_line_errors
from edgewise.cli.evaluate import evaluate_runs, file_stems, read_judgments, read_runs
from edgewise.common.choices import DEFAULT_RANKING_METRICS, FUSIONS, RANK_LEARNERS
from edgewise.common.text import pluralize

if TYPE_CHECKING:
    from edgewise import RankFusion
    from edgewise.fusion import RankedLists
    from edgewise.io import Qrels, Run
    from edgewise.metrics import Evaluation

RANKBOOST = "rankboost"
METHODS = (RANKBOOST, *FUSIONS)
WEIGHTED = ("borda", "comb_mnz", "comb_sum", "rrf")

_TOP_RULES = 5
# The options that name judgments, and the queries that they judge.
_JUDGED = {"qrels": "training", "validate": "validation", "test": "test"}

logger = logging.getLogger("edgewise")

file_option, fusion_option, training_option = (
    partial(params.option, group=group) for group in ("Files", "Fusion", "Training")
)


@params.command("fuse")
@params.argument(
    "run",
    "Two or more runs, lines of `query Q0 document rank score tag`; a saved model may come first.",
    nargs=-1,
    required=True,
    type=params.FILE,
    metavar="[MODEL] RUN RUN...",
)
@file_option(
    "--qrels", type=params.FILE, help="Judgments, lines of `query 0 document grade`, to train on."
)
@file_option(
    "--validate", type=params.FILE, help="Judgments of other queries, to choose the rounds on."
)
@file_option("--test", type=params.FILE, help="Judgments of queries to test on.")
@params.output("Write the fused run here.", params.OutputFile())
@params.model()
@fusion_option("--method", choices=METHODS, metavar="NAME", help=f"One of {', '.join(METHODS)}.")
@fusion_option(
    "--weights",
    type=params.Real(),
    metavar="X",
    multiple=True,
    help=f"Weight of each run, in their order, for {', '.join(WEIGHTED)}.",
)
@training_option(
    "--learner",
    choices=RANK_LEARNERS,
    help="Rules to boost; auto takes thresholds or values, whichever validates better.",
)
@training_option(
    "--rounds",
    "n_rounds",
    type=params.COUNT,
    help="Number of boosting rounds.  [default: chosen on held-out queries]",
)
@params.settings("Parameters of RankFusion, such as values=rank,score.")
@params.seed
@params.threads
@params.json
def fuse(**options: Any) -> None:
    """Fuse TREC runs into one.

      edgewise fuse bm25.run lm.run --method rrf -o fused.run
          fuses without training
      edgewise fuse bm25.run lm.run --qrels qrels.txt --model fusion.edgewise
          learns from judgments how much to trust each run at each rank
      edgewise fuse fusion.edgewise new/bm25.run new/lm.run -o fused.run
          fuses runs of other queries with the saved model

    With --qrels, the runs and their fusion are evaluated as by `edgewise
    evaluate`. After training these are training-set metrics, which are
    optimistic: --test judges queries that are not in training, and --validate
    those that choose the number of rounds. Each of these files judges queries of
    the same runs.

    A run is named by its tag, the last column, if every file has one tag and all
    tags differ; otherwise by its file, without folder and ending. A model takes
    runs with the names that it was trained on, in any order.

    Ctrl-C ends the training: the rounds so far are used and saved, and the exit
    code is 130.
    """
    import numpy as np

    from edgewise.fusion import RankedLists
    from edgewise.io import Run, check_run, write_run

    args = SimpleNamespace(**options)
    saved, paths = (
        (args.run[0], args.run[1:]) if args.run[0].endswith(params.MODEL) else (None, args.run)
    )
    _check(args, saved, paths)
    fusion, runs = _read_runs(saved, paths)
    judgments = _read_judgments(args, runs)
    with one_line_errors():
        lists = RankedLists.from_runs(runs)
        docs: Any = lists.docs
        if args.output is not None:
            check_run(lists.qid, docs)
    is_trained = args.method == RANKBOOST and fusion is None
    if is_trained:
        fusion = _train(args, lists, judgments)
    scores = _score(args, lists, fusion)
    # An evaluation sorts by score.
    ranks = np.zeros(len(lists), dtype=np.int64)
    fused = Run(lists.qid.astype(str), docs, ranks, scores, lists.qid)
    evaluations = _evaluate(args, judgments, {**runs, f"fused by {args.method}": fused})
    if fusion is not None and args.model is not None:
        fusion.save(args.model)
    if args.output is not None:
        write_run(args.output, lists.qid, docs, scores, f"edgewise-{args.method}")
    if args.as_json:
        common.print_json(_to_json(args, lists, evaluations, is_trained))
    else:
        _print(args, lists, evaluations, fusion, is_trained)
    if fusion is not None and is_trained:
        common.raise_if_interrupted(fusion)


def _check(args: SimpleNamespace, saved: str | None, runs: Sequence[str]) -> None:
    """Raise if options do not go together."""
    is_boosted = args.method == RANKBOOST
    if len(runs) < 2:
        raise click.UsageError("fuse needs two or more runs")
    if not is_boosted and (saved or args.model):
        remove = saved or "--model"
        raise click.UsageError(f"--method {args.method} has no model: remove {remove}")
    if args.weights and args.method not in WEIGHTED:
        raise click.UsageError(f"--weights is for --method {', '.join(WEIGHTED)}")
    if args.weights and len(args.weights) != len(runs):
        raise click.UsageError(f"--weights has {len(args.weights)} numbers for {len(runs)} runs")
    if saved and args.model:
        raise click.UsageError(f"--model: {saved} is already trained")
    if is_boosted and not saved and not args.qrels:
        raise click.UsageError(
            f"--method {RANKBOOST} learns from judgments: add --qrels or a saved model, or use a "
            "method without training, such as --method rrf"
        )
    params.require_options(["validate", "test"], "qrels")
    if saved or not is_boosted:
        names = ("validate", "learner", "n_rounds", "settings", "random_state", "n_jobs")
        params.refuse_options(names, "is for training, and nothing is trained")
    if not (args.output or args.model or args.qrels):
        raise click.UsageError("nothing to do: add --output to write the fused run")


# Runs and judgments


def _read_runs(
    saved: str | None, paths: Sequence[str]
) -> "tuple[RankFusion | None, dict[str, Run]]":
    """Return the saved model, if any, and the runs by name."""
    runs = read_runs(paths)
    tags, stems = _read_tags(runs), file_stems(paths)
    if saved is None:
        names = tags or stems
        for i, name in enumerate(names):
            if name in names[:i]:
                raise click.ClickException(
                    f"two runs are named {name!r}: give them different tags or file names"
                )
        return None, dict(zip(names, runs, strict=True))
    fusion = common.load_model(saved, ["RankFusion"], "fuse runs")
    expected = list(fusion.list_names_)
    for names in filter(None, (tags, stems)):
        if len({*names}) == len(names) and {*names} <= {*expected}:
            by_name = dict(zip(names, runs, strict=True))
            for name in expected:
                if name not in by_name:
                    logger.warning("the run %r of %s is absent: it returns nothing", name, saved)
            return fusion, {name: by_name[name] for name in expected if name in by_name}
    raise click.ClickException(
        f"{saved} fuses the runs {', '.join(expected)}, got {', '.join(tags or stems)}"
    )


def _read_tags(runs: "Sequence[Run]") -> list[str] | None:
    """Return the tags of runs, or None if they do not distinguish the runs."""
    tags = [set(run.tags.tolist()) for run in runs]
    single = [names.pop() for names in tags if len(names) == 1]
    return single if len(set(single)) == len(runs) else None


def _read_judgments(args: SimpleNamespace, runs: "Mapping[str, Run]") -> "dict[str, Qrels]":
    """Return the judgments by option; each file judges queries of all runs, and no other's."""
    paths = {name: getattr(args, name) for name in _JUDGED if getattr(args, name)}
    judgments = {name: read_judgments(path) for name, path in paths.items()}
    for name, qrels in judgments.items():
        for run_name, run in runs.items():
            if set(run.queries).isdisjoint(qrels.queries):
                raise click.ClickException(f"{run_name} has no query of {paths[name]}")
    for first, second in combinations(judgments, 2):
        queries = (set(judgments[name].queries.tolist()) for name in (first, second))
        if both := set.intersection(*queries):
            raise click.ClickException(
                f"{paths[first]} and {paths[second]} both judge the query {min(both)}: training, "
                "validation and test queries must be disjoint"
            )
    return judgments


def _evaluate(
    args: SimpleNamespace, judgments: "Mapping[str, Qrels]", runs: "Mapping[str, Run]"
) -> "dict[str, Evaluation]":
    """Evaluate runs against each file of judgments."""
    # Several files judge different queries of the same runs.
    warns = len(judgments) == 1
    return {
        name: evaluate_runs(
            getattr(args, name), qrels, runs, DEFAULT_RANKING_METRICS, warns_of_unjudged=warns
        )
        for name, qrels in judgments.items()
    }


# Fusion


def _train(
    args: SimpleNamespace, lists: "RankedLists", judgments: "Mapping[str, Qrels]"
) -> "RankFusion":
    import numpy as np

    from edgewise import RankFusion

    def select_queries(qrels: "Qrels") -> "tuple[RankedLists, Qrels]":
        if len(judgments) == 1:
            return lists, qrels
        return lists.take(np.isin(lists.qid.astype(str), np.unique(qrels.queries))), qrels

    settings = params.parse_settings(args.settings)
    if "validate" in judgments:
        settings.setdefault("early_stopping_rounds", params.PATIENCE)
    names = ("learner", "n_rounds", "random_state", "n_jobs")
    explicit = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    fusion: RankFusion = params.build_estimator(
        RankFusion, settings, verbose=common.verbosity(), **explicit
    )
    with one_line_errors(args.qrels):
        validation = select_queries(judgments["validate"]) if "validate" in judgments else None
        fusion.fit(*select_queries(judgments["qrels"]), eval_set=validation)
    if not fusion.n_rounds_:
        common.raise_if_interrupted(fusion)
    return fusion


def _score(args: SimpleNamespace, lists: "RankedLists", fusion: "RankFusion | None") -> Any:
    """Return the fused scores of all documents."""
    from edgewise.fusion import fuse as fuse_lists

    if fusion is not None:
        return fusion.predict(lists)
    with one_line_errors():
        return fuse_lists(lists, args.method, **({"weights": args.weights} if args.weights else {}))


# Output


def _to_json(
    args: SimpleNamespace,
    lists: "RankedLists",
    evaluations: "Mapping[str, Evaluation]",
    is_trained: bool,
) -> dict[str, Any]:
    means = {name: evaluation.means for name, evaluation in evaluations.items()}
    result = {"documents": len(lists), "method": args.method, "metrics": means.pop("qrels", {})}
    if is_trained:
        result["metrics_are_of_training_queries"] = True
    return {**result, **means}


def _print(
    args: SimpleNamespace,
    lists: "RankedLists",
    evaluations: "Mapping[str, Evaluation]",
    fusion: "RankFusion | None",
    is_trained: bool,
) -> None:
    n_queries = pluralize(len(lists.queries.ids), "queries")
    facts = [
        ("runs", f"{lists.n_lists}: {', '.join(lists.names)}"),
        ("fused", f"{n_queries}, {pluralize(len(lists), 'documents')}, by {args.method}"),
    ]
    if fusion is not None:
        facts.append(("training", common.describe_training(fusion)))
    common.print_facts(facts)
    for name, evaluation in evaluations.items():
        click.echo()
        if is_trained:
            click.echo(f"{_JUDGED[name]} queries:")
        click.echo(evaluation.summary())
    if fusion is not None:
        common.print_rules(fusion, _TOP_RULES)

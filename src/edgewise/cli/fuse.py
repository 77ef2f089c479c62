"""``edgewise fuse``: several TREC runs into one."""

import logging
from collections.abc import Mapping, Sequence
from itertools import combinations
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from edgewise.cli import common
from edgewise.cli.common import FILE, one_line_errors, option_group
from edgewise.cli.runs import RunEvaluator, file_stems, read_runs
from edgewise.common.choices import DEFAULT_RANKING_METRICS, FUSIONS, RANK_LEARNERS
from edgewise.common.text import pluralize

if TYPE_CHECKING:
    from edgewise import RankFusion
    from edgewise.fusion import RankedLists
    from edgewise.io import Qrels, Run

RANKBOOST = "rankboost"
METHODS = (RANKBOOST, *FUSIONS)
WEIGHTED = ("borda", "comb_mnz", "comb_sum", "rrf")

_TOP_RULES = 5

logger = logging.getLogger("edgewise")

files, fusing, training = map(option_group, ("Files", "Fusion", "Training"))


@common.command("fuse")
@common.argument(
    "run",
    "Two or more runs, lines of `query Q0 document rank score tag`; a saved model may come first.",
    nargs=-1,
    required=True,
    type=FILE,
    metavar="[MODEL] RUN RUN...",
)
@files("--qrels", type=FILE, help="Judgments, lines of `query 0 document grade`, to train on.")
@files("--validate", type=FILE, help="Judgments of other queries, to choose the rounds on.")
@files("--test", type=FILE, help="Judgments of queries to test on.")
@files("--output", "-o", type=common.OutputFile(), help="Write the fused run here.")
@common.model_file(files)
@fusing("--method", choices=METHODS, metavar="NAME", help=f"One of {', '.join(METHODS)}.")
@fusing(
    "--weights",
    type=common.Real(),
    metavar="X",
    multiple=True,
    help=f"Weight of each run, in their order, for {', '.join(WEIGHTED)}.",
)
@training(
    "--learner",
    choices=RANK_LEARNERS,
    help="Rules to boost; auto takes thresholds or values, whichever validates better.",
)
@training("--rounds", "n_rounds", type=common.COUNT, help="Number of boosting rounds.")
@common.set_option(training, "Parameters of RankFusion, such as values=rank,score.")
@common.seed(training)
@common.threads(training)
@common.json_option(option_group("Options"))
def fuse(
    run: tuple[str, ...],
    output: str | None,
    model: str | None,
    method: str,
    weights: tuple[float, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Fuse TREC runs into one.

      edgewise fuse bm25.run lm.run --method rrf -o fused.run
          fuses without training
      edgewise fuse bm25.run lm.run --qrels qrels.txt --model fusion.edgewise
          learns from judgments which runs to trust, and how far down
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
    from edgewise.fusion import fuse as fuse_lists
    from edgewise.io import Run, check_run, write_run

    saved, paths = (run[0], run[1:]) if run[0].endswith(common.MODEL) else (None, run)
    _check(saved, paths, SimpleNamespace(**click.get_current_context().params))
    runs = read_runs(paths)
    fusion: RankFusion | None = None
    if saved is None:
        systems = _name_runs(paths, runs)
    else:
        fusion = common.load_model(saved, ["RankFusion"], "fuse runs")
        systems = _match_runs(fusion, saved, paths, runs)
    qrels = {part: options[part] for part in ("qrels", "validate", "test")}
    evaluators = {
        part: RunEvaluator(path, DEFAULT_RANKING_METRICS) for part, path in qrels.items() if path
    }
    _check_disjoint(evaluators)
    _evaluate(systems, evaluators)
    with one_line_errors():
        lists = RankedLists.from_runs(systems)
        docs: Any = lists.docs
        if output is not None:
            check_run(lists.qid, docs)
    is_trained = method == RANKBOOST and fusion is None
    if method != RANKBOOST:
        with one_line_errors(names={"weights": "--weights"}):
            scores = fuse_lists(lists, method, **({"weights": weights} if weights else {}))
    else:
        if fusion is None:
            fusion = _train(lists, evaluators, options)
        scores = fusion.predict(lists)
    if model is not None and fusion is not None:
        fusion.save(model)
    if output is not None:
        write_run(output, lists.qid, docs, scores, f"edgewise-{method}")
    # An evaluation sorts by score.
    unranked = np.zeros(len(lists), dtype=np.int64)
    fused = Run(lists.qid.astype(str), docs, unranked, scores, lists.qid)
    _evaluate({f"fused by {method}": fused}, evaluators)
    if as_json:
        common.print_json(_to_json(lists, method, evaluators, is_trained))
    else:
        _print(lists, method, evaluators, fusion, is_trained)
    if fusion is not None and is_trained:
        common.raise_if_interrupted(fusion)


def _check(saved: str | None, runs: Sequence[str], args: SimpleNamespace) -> None:
    """Raise if options do not go together."""
    if len(runs) < 2:
        raise click.UsageError("fuse needs two or more runs")
    if args.method != RANKBOOST and (saved or args.model):
        remove = saved or "--model"
        raise click.UsageError(f"--method {args.method} has no model: remove {remove}")
    if args.weights and args.method not in WEIGHTED:
        raise click.UsageError(f"--weights is for --method {', '.join(WEIGHTED)}")
    if args.weights and len(args.weights) != len(runs):
        raise click.UsageError(f"--weights has {len(args.weights)} numbers for {len(runs)} runs")
    if saved and args.model:
        raise click.UsageError(f"--model: {saved} is already trained")
    if args.method == RANKBOOST and not saved and not args.qrels:
        raise click.UsageError(
            f"--method {RANKBOOST} learns from judgments: add --qrels or a saved model, or use a "
            "method without training, such as --method rrf"
        )
    common.require_options(["validate", "test"], "qrels")
    if args.method != RANKBOOST or saved:
        names = ("validate", "learner", "n_rounds", "settings", "random_state", "n_jobs")
        if extra := common.explicit_options(*names):
            raise click.UsageError(f"{extra[0]} is for training, and nothing is trained")
    if not (args.output or args.model or args.qrels):
        raise click.UsageError("nothing to do: add --output to write the fused run")


def _tags(runs: "Sequence[Run]") -> list[str] | None:
    """Return the tags of runs, or None if they do not distinguish the runs."""
    tags = [set(run.tags.tolist()) for run in runs]
    single = [names.pop() for names in tags if len(names) == 1]
    return single if len(set(single)) == len(runs) else None


def _name_runs(paths: Sequence[str], runs: "Sequence[Run]") -> "dict[str, Run]":
    """Return runs by name: their tags, or the names of their files."""
    names = _tags(runs) or file_stems(paths)
    for i, name in enumerate(names):
        if name in names[:i]:
            raise click.ClickException(
                f"two runs are named {name!r}: give them different tags or file names"
            )
    return dict(zip(names, runs, strict=True))


def _match_runs(
    fusion: "RankFusion", path: str, paths: Sequence[str], runs: "Sequence[Run]"
) -> "dict[str, Run]":
    """Return runs by the names that a model was trained on, in its order."""
    expected = list(fusion.list_names_)
    tags, stems = _tags(runs), file_stems(paths)
    for names in (tags, stems):
        if names is not None and len({*names}) == len(names) and {*names} <= {*expected}:
            named = dict(zip(names, runs, strict=True))
            for name in expected:
                if name not in named:
                    logger.warning("the run %r of %s is absent: it returns nothing", name, path)
            return {name: named[name] for name in expected if name in named}
    raise click.ClickException(
        f"{path} fuses the runs {', '.join(expected)}, got {', '.join(tags or stems)}"
    )


def _evaluate(systems: "Mapping[str, Run]", evaluators: Mapping[str, RunEvaluator]) -> None:
    """Evaluate runs against each file of judgments, on the queries that it judges."""
    import numpy as np

    for evaluator in evaluators.values():
        for name, run in systems.items():
            if len(evaluators) > 1:
                judged = np.isin(run.queries, np.unique(evaluator.qrels.queries))
                run = type(run)(
                    run.queries[judged],
                    run.docs[judged],
                    run.ranks[judged],
                    run.scores[judged],
                    run.tags[judged],
                )
            evaluator.add(name, run)


def _check_disjoint(evaluators: Mapping[str, RunEvaluator]) -> None:
    """Raise if two files judge the same query."""
    for first, second in combinations(evaluators.values(), 2):
        both = {*first.qrels.queries.tolist()} & {*second.qrels.queries.tolist()}
        if both:
            raise click.ClickException(
                f"{first.path} and {second.path} both judge the query {min(both)}: training, "
                "validation and test queries must be disjoint"
            )


def _train(
    lists: "RankedLists", evaluators: Mapping[str, RunEvaluator], options: Mapping[str, Any]
) -> "RankFusion":
    import numpy as np

    from edgewise import RankFusion

    def select(part: str) -> "tuple[RankedLists, Qrels]":
        qrels = evaluators[part].qrels
        if len(evaluators) == 1:
            return lists, qrels
        return lists.take(np.isin(lists.qid.astype(str), np.unique(qrels.queries))), qrels

    settings = common.parse_settings(options["settings"])
    explicit = {name: options[name] for name in ("learner", "n_rounds") if options[name]}
    shared = {name: options[name] for name in ("random_state", "n_jobs")}
    if "validate" in evaluators:
        settings.setdefault("early_stopping_rounds", common.PATIENCE)
    fusion: RankFusion = common.build_estimator(
        RankFusion, settings, verbose=common.verbosity(), **shared, **explicit
    )
    with one_line_errors(evaluators["qrels"].path):
        validation = select("validate") if "validate" in evaluators else None
        fusion.fit(*select("qrels"), eval_set=validation)
    if not fusion.n_rounds_:
        common.raise_if_interrupted(fusion)
    return fusion


def _to_json(
    lists: "RankedLists",
    method: str,
    evaluators: Mapping[str, RunEvaluator],
    is_trained: bool,
) -> dict[str, Any]:
    """Return the results for programs."""
    means = {
        part: {name: values.means for name, values in evaluator.runs.items()}
        for part, evaluator in evaluators.items()
    }
    result = {"documents": len(lists), "method": method, "metrics": means.pop("qrels", {})}
    if is_trained:
        result["metrics_are_of_training_queries"] = True
    return {**result, **means}


def _print(
    lists: "RankedLists",
    method: str,
    evaluators: Mapping[str, RunEvaluator],
    fusion: "RankFusion | None",
    is_trained: bool,
) -> None:
    """Print the results for people."""
    n_queries = pluralize(len(lists.queries.ids), "queries")
    facts = [
        ("runs", f"{lists.n_lists}: {', '.join(lists.names)}"),
        ("fused", f"{n_queries}, {pluralize(len(lists), 'documents')}, by {method}"),
    ]
    if fusion is not None:
        facts.append(("training", common.describe_training(fusion)))
    common.print_facts(facts)
    titles = {"qrels": "training", "validate": "validation", "test": "test"}
    for part, evaluator in evaluators.items():
        click.echo()
        if is_trained:
            click.echo(f"{titles[part]} queries:")
        click.echo(evaluator.evaluation().summary())
    if fusion is not None:
        common.print_rules(fusion, _TOP_RULES)

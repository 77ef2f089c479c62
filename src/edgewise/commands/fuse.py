"""``edgewise fuse``: several TREC runs into one."""

import argparse
from typing import TYPE_CHECKING, Any

from edgewise.commands.errors import CommandError, in_one_line
from edgewise.commands.evaluate import say_means
from edgewise.commands.info import loaded
from edgewise.commands.paths import Named, check_inputs, check_outputs
from edgewise.commands.screen import say, say_facts, say_rules
from edgewise.commands.training import (
    add_training,
    finished,
    losses_of,
    on_a_terminal,
    raise_if_interrupted,
    rounds_of,
)
from edgewise.common.text import counted

if TYPE_CHECKING:
    from edgewise.common.dtypes import Reals
    from edgewise.estimators import RankFusion
    from edgewise.fusion import RankedLists
    from edgewise.io import Qrels, Run

TRAINED = "rankboost"
METHODS = (
    TRAINED,
    "borda",
    "comb_mnz",
    "comb_sum",
    "condorcet",
    "maximum_rank",
    "median_rank",
    "minimum_rank",
    "rank_sum",
    "rrf",
)

_TOP_RULES = 5
_METRICS = "map,ndcg@10,mrr,precision@10"
_DESCRIPTION = f"""\
Fuse TREC runs into one.

  edgewise fuse RUN RUN --method rrf --out FUSED.run
        fuses without training; the methods are {", ".join(METHODS[1:6])},
        {", ".join(METHODS[6:])}
  edgewise fuse RUN RUN --qrels QRELS --save FUSION.edgewise
        learns from judgements which runs to believe, and how far down (RankFusion)
  edgewise fuse RUN RUN --model FUSION.edgewise --out FUSED.run
        fuses the same systems' runs of other queries

With --qrels, all runs and the fused one are evaluated as `edgewise evaluate` does; after training
these are the queries that were trained on.

A run is called by its tag, the last column of the file, if every file has one and they are all
different; otherwise by the name of its file, without folder and ending. A model takes runs of the
names that it was trained on, in any order.

Ctrl-C ends the training early: the rounds so far are used and saved, and the exit code is 130."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "fuse",
        help="fuse TREC runs into one, with or without training",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    files = parser.add_argument_group("files")
    files.add_argument(
        "runs", metavar="RUN", nargs="+", help="a run: query Q0 document rank score tag"
    )
    files.add_argument("--qrels", metavar="QRELS", help="judgements: query 0 document grade")
    files.add_argument("--out", metavar="FUSED.run", help="where to write the fused run")
    files.add_argument("--save", metavar="OUT.edgewise", help="where to save the trained model")
    files.add_argument("--model", metavar="MODEL", help="a model that --save wrote")
    parser.add_argument(
        "--method", choices=METHODS, metavar="NAME", help=f"how to fuse (default: {TRAINED})"
    )
    add_training(parser.add_argument_group("training"))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Fuse the runs, write what was asked for, and tell what came of it."""
    _check(options)
    from edgewise.commands.runs import named, named_as, read_judgements, read_runs, rehearse
    from edgewise.estimators import RankFusion
    from edgewise.fusion import RankedLists, fuse

    model: RankFusion | None = None
    runs = read_runs(options.runs)
    if options.model is None:
        systems = named(options.runs, runs)
    else:
        model = _fusion_of(options.model)
        systems = named_as(model.list_names_, options.runs, runs, options.model)
    qrels = None if options.qrels is None else read_judgements(options.qrels)
    report = None if qrels is None else _Report(qrels, systems)
    with in_one_line():
        lists = RankedLists.from_runs(systems)
        if options.out is not None:
            rehearse(lists.qid, lists.docs)  # type: ignore[arg-type]
    method = options.method or TRAINED
    if method != TRAINED:
        scores = fuse(lists, method)
    else:
        model = _trained(options, lists, qrels) if model is None else model
        scores = model.predict(lists)
    fused = _as_run(lists, scores, f"edgewise-{method}")
    _write(options, model, fused)
    _tell(lists, method, model)
    if report is not None:
        report.add(f"fused by {method}", fused)
        report.say()
    if model is not None:
        say_rules(model, _TOP_RULES)
        if options.model is None:
            raise_if_interrupted(model)


def _check(options: argparse.Namespace) -> None:
    """Raise if options don't go together, or files are not as they should be."""
    method = options.method or TRAINED
    if len(options.runs) < 2:
        raise CommandError("fuse takes two runs or more")
    if method != TRAINED and (options.model or options.save):
        given = "--model" if options.model else "--save"
        raise CommandError(f"{given} goes with --method {TRAINED}; {method} has no model")
    if options.model and options.save:
        raise CommandError("--model is trained already: --save has nothing to save")
    if method == TRAINED and not options.model and not options.qrels:
        raise CommandError(
            f"--method {TRAINED} learns from judgements: give --qrels or --model, or a method that "
            "needs none, such as --method rrf"
        )
    if not (options.out or options.save or options.qrels):
        raise CommandError("there is nothing to do: --out says where to write the fused run")
    inputs: list[Named] = [("RUN", path) for path in options.runs]
    inputs += [("--qrels", options.qrels), ("--model", options.model)]
    check_inputs(inputs)
    check_outputs([("--out", options.out), ("--save", options.save)], inputs, ["--save"])


def _fusion_of(path: str) -> "RankFusion":
    from edgewise.estimators import RankFusion

    model = loaded(path)
    if not isinstance(model, RankFusion):
        raise CommandError(f"{path} holds a {type(model).__name__}, which does not fuse runs")
    return model


def _trained(
    options: argparse.Namespace, lists: "RankedLists", qrels: "Qrels | None"
) -> "RankFusion":
    from edgewise.estimators import RankFusion

    model = RankFusion(
        n_rounds=options.rounds,
        learning_rate=options.rate,
        n_jobs=options.jobs,
        random_state=0,
        verbose=on_a_terminal(),
    )
    with in_one_line(options.qrels):
        return finished(model.fit(lists, qrels))


def _as_run(lists: "RankedLists", scores: "Reals", tag: str) -> "Run":
    import numpy as np

    from edgewise.io import Run

    ranks = np.zeros(len(lists), dtype=np.int64)
    docs: Any = lists.docs
    fused = Run(lists.qid, docs, ranks, scores, np.full(len(lists), tag))
    return Run(fused.queries, fused.docs, fused.positions(), fused.scores, fused.tags)


def _write(options: argparse.Namespace, model: "RankFusion | None", fused: "Run") -> None:
    from edgewise.io import write_run

    if options.save is not None and model is not None:
        model.save(options.save)
    if options.out is not None:
        write_run(options.out, fused.queries, fused.docs, fused.scores, str(fused.tags[0]))


def _tell(lists: "RankedLists", method: str, model: "RankFusion | None") -> None:
    counts = counted(len(lists.queries.ids), "queries"), counted(len(lists), "documents")
    facts = [("runs", f"{lists.n_lists}: {', '.join(lists.names)}")]
    facts += [("fused", f"{', '.join(counts)}, by {method}")]
    if model is not None:
        facts += [rounds_of(model), *losses_of(model)]
    say_facts(facts)


class _Report:
    """The values of runs; those of the systems are found before any work is done."""

    def __init__(self, qrels: "Qrels", systems: dict[str, "Run"]) -> None:
        from edgewise.commands.judged import Judged, metrics_named

        self._judged, self._metrics = Judged(qrels), metrics_named(_METRICS)
        self._values: list[tuple[str, list[Reals]]] = []
        for name, run in systems.items():
            self.add(name, run)

    def add(self, name: str, run: "Run") -> None:
        returned = self._judged.returned_by(run, name)
        self._values.append((name, [returned.values(metric) for metric in self._metrics]))

    def say(self) -> None:
        say()
        say_means(self._judged, [metric.name for metric in self._metrics], self._values)

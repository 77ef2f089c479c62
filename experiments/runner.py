"""One way to run an experiment: its cells, results that grow line by line, and a report.

An experiment is a table of cells. Each cell trains, and gives a figure that stands beside the
paper's. Results are kept after every cell and models after every few rounds, so a run that was
stopped or killed goes on where it was, to the same bits.
"""

import hashlib
import importlib
import json
import math
import os
import platform
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from edgewise import Callback, Checkpoint, __version__, load
from edgewise.common.files import replace_file
from edgewise.common.text import pluralize, text_table, to_json_value
from edgewise.common.threads import n_threads
from edgewise.model.file import pack_model

MODULES = (
    "products", "choices", "open_problem", "bandits", "margins", "relatives", "noise", "multilabel",
    "rankboost", "ranking", "movies", "ratings",
)  # fmt: skip
"""The modules of experiments: each has a list EXPERIMENTS."""

ModelT = TypeVar("ModelT")


class Paper(NamedTuple):
    """A figure of a paper, and its spread if the paper states one."""

    value: float
    spread: float | None = None


@dataclass(frozen=True)
class Cell:
    """A figure of a table: its row and column, what finds it, and the paper's own."""

    row: str
    column: str
    run: Callable[["Bench"], Mapping[str, Any]]
    paper: Paper | None = None

    @property
    def name(self) -> str:
        """The row and the column, as a name of files."""
        words = "".join(c if c.isalnum() else " " for c in f"{self.row} {self.column}")
        return "-".join(words.split())


class Said(NamedTuple):
    """What a paper states in words, what was found here, and whether the one bears out the other.

    `holds` is None where the paper asks, or states nothing.
    """

    paper: str
    ours: str
    holds: bool | None = None


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    A cell's result has "value", perhaps "spread", and whatever else its picture needs; "also" has
    more figures of the same run, by column, with "paper" where there is one. A "more_is_better" of
    its own goes before the experiment's; None says that the paper's figures are of other data, so
    that they are not compared. A "note" says how the run falls short of the paper's. `about` says
    what is done and how it differs from the paper. `draw` gets the results and a Matplotlib figure;
    `words` gets the results where a paper states in words what the table should show. `absent`
    says why cells may have no result, `why` what makes some fall short of the paper's.
    """

    name: str
    title: str
    source: str
    about: str
    unit: str
    cells: Callable[["Bench"], Sequence[Cell]]
    draw: Callable[[list[dict[str, Any]], Any], None] | None = None
    more_is_better: bool | None = False
    words: Callable[[list[dict[str, Any]]], Iterable[Said]] | None = None
    absent: str = ""
    why: str = ""


def experiments() -> dict[str, Experiment]:
    """Return all experiments by name."""
    found = (importlib.import_module(f"experiments.{module}") for module in MODULES)
    return {one.name: one for module in found for one in module.EXPERIMENTS}


class OutOfTimeError(Exception):
    """The budget is spent; what there is has been kept."""


@dataclass
class Bench:
    """What cells train with: settings, time, and a folder for what is not finished."""

    quick: bool = False
    seed: int = 0
    device: str = "cpu"
    n_jobs: int | None = None
    n_rounds: int | None = None  # in place of the experiment's own
    end: float = math.inf  # by time.monotonic
    folder: Path | None = None
    every: float = float(os.environ.get("EXPERIMENTS_EVERY", 20))  # seconds between checkpoints
    digests: list[str] = field(default_factory=list)  # of the models trained

    def within(self, folder: Path) -> "Bench":
        """Return a bench whose models are kept in a folder."""
        return replace(self, folder=folder, digests=[])

    def rounds(self, usual: int, quick: int) -> int:
        """Return the number of rounds: the one asked for, or the experiment's."""
        return self.n_rounds or (quick if self.quick else usual)

    def train(self, model: ModelT, *data: Any, **given: Any) -> ModelT:
        """Train a model on `data`, from where an earlier run left it.

        Raises OutOfTimeError when the budget is spent before the last round.
        """
        wanted: Any = model
        trained: Any = model
        callbacks: list[Callback] = [*(wanted.callbacks or []), _Clock(self.end)]
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / f"model-{len(self.digests) + 1}.edgewise"
            if path.exists():
                trained = load(path).set_params(warm_start=True, n_rounds=wanted.n_rounds)
            callbacks.append(_Kept(path, self.every))
        if trained is wanted or trained.n_rounds_ < wanted.n_rounds:
            shown = int(sys.stderr.isatty())
            trained.set_params(n_jobs=self.n_jobs, callbacks=callbacks, verbose=shown)
            trained.fit(*data, **given)
            if trained.n_rounds_ < wanted.n_rounds and time.monotonic() >= self.end:
                raise OutOfTimeError
        self.digests.append(digest(trained))
        return trained  # type: ignore[no-any-return]


def digest(model: Any) -> str:
    """Return a fingerprint of all that a model learned: two models are the same, or it differs."""
    arrays: dict[str, Any] = {}
    state = pack_model(model, "", arrays)["state"]
    found = hashlib.sha256(json.dumps(to_json_value(state), sort_keys=True).encode())
    for name in sorted(arrays):
        found.update(np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()[:16]


class _Clock(Callback):
    """Stop when the budget is spent."""

    def __init__(self, end: float) -> None:
        self.end = end

    def on_round(self, run: Any) -> str | None:
        return "the budget is spent" if time.monotonic() >= self.end else None


class _Kept(Checkpoint):
    """Save by the clock, and at the end."""

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__(path)
        self.seconds, self.last = seconds, time.monotonic()

    def on_round(self, run: Any) -> str | None:
        if time.monotonic() - self.last >= self.seconds:
            run.save(self.path)
            self.last = time.monotonic()
        return None


# Running


class Options(NamedTuple):
    """What the command line says."""

    quick: bool
    resume: bool
    budget: float | None  # minutes
    seed: int
    device: str
    n_jobs: int | None
    n_rounds: int | None
    folder: Path
    only: tuple[str, ...]


def run(experiment: Experiment, options: Options, say: Callable[[str], None]) -> Path:
    """Run the cells that have no result yet, and write the report; return its path."""
    end = math.inf if options.budget is None else time.monotonic() + 60 * options.budget
    settings = {"quick": options.quick, "seed": options.seed, "n_rounds": options.n_rounds}
    bench = Bench(**settings, device=options.device, n_jobs=options.n_jobs, end=end)
    cells = [
        cell
        for cell in experiment.cells(bench)
        if all(word in f"{cell.row} {cell.column}" for word in options.only)
    ]
    if not cells:
        raise ValueError(f"--only {' '.join(options.only)}: {experiment.name} has no such cell")
    folder = options.folder / (experiment.name + ("-quick" if options.quick else ""))
    path = folder / "results.jsonl"
    done: dict[tuple[str, str], dict[str, Any]] = {}
    if path.exists():
        if not options.resume:
            raise FileExistsError(f"{path} has results: add --resume to go on, or remove {folder}")
        earlier, *lines = (json.loads(line) for line in path.read_text().splitlines())
        if any(earlier[name] != value for name, value in settings.items()):
            raise ValueError(f"{path} is of a run with other settings: {earlier['command']}")
        done = {(line["row"], line["column"]): line for line in lines}
    folder.mkdir(parents=True, exist_ok=True)
    command = _command(experiment, options)
    head = {"experiment": experiment.name, **settings, "command": command, **_circumstances()}
    if all((cell.row, cell.column) in done for cell in cells):
        head = earlier  # nothing is left but to write the report

    def keep() -> None:
        lines = [head, *done.values()]
        with replace_file(path) as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines).encode())

    for number, cell in enumerate(cells, 1):
        if (cell.row, cell.column) in done:
            continue
        started = time.process_time()
        try:
            if time.monotonic() >= end:
                raise OutOfTimeError
            own = bench.within(folder / "unfinished" / cell.name)
            found = cell.run(own)
        except OutOfTimeError:
            say(f"out of time at {cell.row}, {cell.column}: --resume goes on from here")
            break
        result: dict[str, Any] = {"row": cell.row, "column": cell.column, **to_json_value(found)}
        if cell.paper is not None:
            result |= {"paper": cell.paper.value, "paper_spread": cell.paper.spread}
        result["models"] = own.digests
        result["cpu_seconds"] = round(time.process_time() - started, 2)
        done[cell.row, cell.column] = result
        keep()
        shutil.rmtree(folder / "unfinished" / cell.name, ignore_errors=True)
        say(f"{number} of {pluralize(len(cells), 'cells')}: {_line(experiment, result)}")
    keep()
    return _report(experiment, folder, head, list(done.values()), len(cells))


def _command(experiment: Experiment, options: Options) -> str:
    """Return the command that gives these results anywhere."""
    words = ["python", "-m", "experiments", experiment.name]
    words += ["--quick"] if options.quick else []
    words += ["--rounds", str(options.n_rounds)] if options.n_rounds is not None else []
    words += ["--seed", str(options.seed)] if options.seed else []
    words += ["--device", options.device] if options.device != "cpu" else []
    for word in options.only:
        words += ["--only", word]
    return shlex.join(words)


def _circumstances() -> dict[str, Any]:
    """Return what a reader needs to run it again."""
    packages = ("numpy", "scipy", "scikit-learn", "numba")
    return {
        "date": time.strftime("%Y-%m-%d"),
        "versions": {"edgewise": __version__, "python": platform.python_version()}
        | {name: version(name) for name in packages},
        "machine": f"{platform.machine()}, {pluralize(os.cpu_count() or 1, 'cores')}",
        "threads": n_threads(None),
    }


# Reporting


def error_of(result: Mapping[str, Any]) -> float | None:
    """Return the difference to the paper in standard errors, None where it has no spread."""
    spreads = [result.get("spread"), result.get("paper_spread")]
    error = math.hypot(*(spread for spread in spreads if spread))
    return (result["value"] - result["paper"]) / error if error else None


OTHER = "other data"
"""The verdict where the paper's figures are of other data; the front page leaves them out."""


def verdict(experiment: Experiment, result: Mapping[str, Any]) -> str:
    """Return how a result compares with the paper's."""
    if result.get("paper") is None or result["value"] is None:
        return ""
    more_is_better = result.get("more_is_better", experiment.more_is_better)
    if more_is_better is None:
        return OTHER
    off, difference = error_of(result), result["value"] - result["paper"]
    if difference == 0 or (off is not None and abs(off) <= 2):
        return "within the spread"
    return "better" if (difference > 0) == more_is_better else "worse"


def _figure(value: float | None, spread: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" + (f" ({spread:.2g})" if spread is not None else "")


def _cells(experiment: Experiment, result: Mapping[str, Any]) -> list[str]:
    """Return the row of a table for a figure."""
    paper, off, found = "", "", verdict(experiment, result)
    if found:
        paper, error = _figure(result["paper"], result.get("paper_spread")), error_of(result)
        off = "" if error is None or found == OTHER else f"{error:+.1f}"
        found += f" ({result['note']})" if "note" in result else ""
    ours = _figure(result["value"], result.get("spread"))
    return [result["row"], result["column"], paper, ours, off, found]


def figures_of(results: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield all figures: the results, each followed by the others of its run."""
    for result in results:
        yield result
        for column, more in result.get("also", {}).items():
            yield {**more, "row": result["row"], "column": column}


def table_of(experiment: Experiment, results: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Return the table of all figures."""
    return [list(HEAD), *(_cells(experiment, figure) for figure in figures_of(results))]


HEAD = ("", "", "paper", "ours", "difference in s.e.", "verdict")


def _line(experiment: Experiment, result: Mapping[str, Any]) -> str:
    row, column, paper, ours, _, found = _cells(experiment, result)
    beside = f", the paper {paper}: {found}" if paper else ""
    return f"{row}, {column}: {ours}{beside}, {result['cpu_seconds']:.0f} CPU s"


def markdown_table(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of cells, the first of which is the head, as a Markdown table."""
    head, *body = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    lines = ["| " + " | ".join(row) + " |" for row in (head, *body)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def _words(experiment: Experiment, results: list[dict[str, Any]]) -> Iterator[Sequence[str]]:
    """Yield what the paper states in words, what was found, and the verdict."""
    verdicts = {True: "as stated", False: "not as stated", None: "no figure to compare"}
    for said in experiment.words(results) if experiment.words and results else ():
        yield said.paper, said.ours, verdicts[said.holds]


def _report(
    experiment: Experiment,
    folder: Path,
    head: Mapping[str, Any],
    results: list[dict[str, Any]],
    n_cells: int,
) -> Path:
    lines = [f"# {experiment.title}", "", f"{experiment.source}. {experiment.about}".strip(), ""]
    if len(results) < n_cells:
        lines += [f"**{len(results)} of {pluralize(n_cells, 'cells')} so far.**", ""]
    lines += [f"{experiment.unit[0].upper()}{experiment.unit[1:]}; spreads in brackets.", ""]
    lines += [markdown_table(table_of(experiment, results)), ""]
    stated = list(_words(experiment, results))
    lines += [markdown_table([("in words", "ours", "verdict"), *stated]), ""] if stated else []
    if experiment.draw is not None and results:
        experiment_png(experiment, results, folder / f"{experiment.name}.png")
        lines += [f"![{experiment.title}]({experiment.name}.png)", ""]
    versions = ", ".join(f"{name} {number}" for name, number in head["versions"].items())
    seconds = sum(result["cpu_seconds"] for result in results)
    lines += [
        f"    {head['command']}",
        "",
        f"Run on {head['date']} with {versions}, seed {head['seed']}, on {head['machine']}; "
        f"{seconds:,.0f} CPU seconds.",
        "",
    ]
    path = folder / "report.md"
    with replace_file(path) as file:
        file.write("\n".join(lines).encode())
    return path


def experiment_png(experiment: Experiment, results: list[dict[str, Any]], path: Path) -> None:
    """Draw the picture of an experiment."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    assert experiment.draw is not None
    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    experiment.draw(results, figure)
    with replace_file(path) as file:
        figure.savefig(file, format="png", dpi=130)


def format_results(experiment: Experiment, folder: Path) -> str:
    """Return the results in a folder as a plain table."""
    _, *lines = (json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines())
    return text_table(table_of(experiment, lines), left=(0, 1, 5))


# Publishing

FRONT = """# Do the papers' results hold?

One section per experiment: what the paper states, what we measured, and whether they agree.
`python -m experiments NAME` runs one. Two standard errors of both figures together count as
agreement; spreads are in brackets. `experiments/reports` has all figures of every run, with its
picture, versions, seed and machine; `python -m experiments publish` writes this page from them.
"""

MAX_FIGURES = 6
"""A section with more figures than these counts them by column: a paper's table may have dozens."""


def publish(folder: Path, reports: Path, page: Path) -> Path:
    """Copy the reports of runs to `reports`, and write the page of all experiments.

    An experiment may have further runs there, as NAME-*.jsonl whose first line names their page:
    of each cell the page has the run with most rounds.
    """
    reports.mkdir(parents=True, exist_ok=True)
    sections = [FRONT]
    for name, experiment in experiments().items():
        copied = {"report.md": f"{name}.md", "results.jsonl": f"{name}.jsonl"}
        for source, target in (copied | {f"{name}.png": f"{name}.png"}).items():
            if (folder / name / source).exists():
                shutil.copy(folder / name / source, reports / target)
        sections += _section(experiment, reports)
    with replace_file(page) as file:
        file.write("\n".join(sections).encode())
    return page


def _section(experiment: Experiment, reports: Path) -> Iterator[str]:
    """Yield the lines of an experiment on the page, if there is anything to compare."""
    name = experiment.name
    longest: dict[tuple[str, str], dict[str, Any]] = {}
    stated: list[Sequence[str]] = []
    runs: list[str] = []
    for path in [*sorted(reports.glob(f"{name}-*.jsonl")), *reports.glob(f"{name}.jsonl")]:
        head, *results = map(json.loads, path.read_text().splitlines())
        for result in results:
            cell = result["row"], result["column"]
            n_rounds = longest.get(cell, {}).get("n_rounds", 0)
            if result.get("n_rounds", 0) >= n_rounds:
                longest[cell] = result
        stated += _words(experiment, results)
        elsewhere = head.get("page")
        report = f"[{elsewhere}]({elsewhere})" if elsewhere else f"`experiments/reports/{name}.md`"
        usual = head["command"] == f"python -m experiments {name}"
        runs.append(report if usual else f"{report} (`{head['command']}`)")
    figures = [
        figure for figure in figures_of(longest.values())
        if verdict(experiment, figure) not in ("", OTHER)
    ]  # fmt: skip
    n_missing = sum(
        cell.paper is not None and (cell.row, cell.column) not in longest
        for cell in experiment.cells(Bench())
    )
    if not (figures or stated or n_missing):
        return
    # A claim speaks for itself; figures need to be told what they measure.
    about = "" if stated else " " + experiment.about.split(". ")[0].rstrip(".") + "."
    yield f"## {experiment.title}\n\n{experiment.source}.{about}\n"
    if stated:
        yield markdown_table([("the paper", "ours", ""), *stated]) + "\n"
    if figures:
        yield markdown_table(_comparison(experiment, figures)) + "\n"
    verdicts = [verdict(experiment, figure) for figure in figures] + [row[-1] for row in stated]
    if experiment.why and {"worse", "not as stated"} & set(verdicts):
        yield f"Why not: {experiment.why}.\n"
    if n_missing:
        reason = f": {experiment.absent}" if experiment.absent else ""
        yield f"Not run here, {pluralize(n_missing, 'figures')}{reason}.\n"
    if runs:
        yield f"All figures: {'; '.join(runs)}.\n"


def _comparison(
    experiment: Experiment, figures: Sequence[Mapping[str, Any]]
) -> Iterator[Sequence[str]]:
    """Yield a table of figures beside the paper's, or of many, how many agree in each column."""
    if len(figures) <= MAX_FIGURES:
        yield "", "the paper", "ours", ""
        for figure in figures:
            row, column, paper, ours, _, found = _cells(experiment, figure)
            yield f"{row}, {column}", paper, ours, found
        return
    yield "", "figures", "within the spread", "better", "worse"
    for column in dict.fromkeys(figure["column"] for figure in figures):
        verdicts: dict[str, list[str]] = {"within the spread": [], "better": [], "worse": []}
        for figure in figures:
            if figure["column"] == column:
                change = f"{figure['row']}: {figure['value']:.4g}, paper {figure['paper']:.4g}"
                change += f" ({figure['note']})" if "note" in figure else ""
                verdicts[verdict(experiment, figure)].append(change)
        within, better, worse = verdicts.values()
        n_figures = len(within) + len(better) + len(worse)
        yield column, str(n_figures), str(len(within)), "; ".join(better), "; ".join(worse)


# What many experiments measure


def mean(values: np.ndarray, factor: float = 1.0) -> dict[str, Any]:
    """Return the mean of the values that are defined, and its standard error."""
    values = factor * values[np.isfinite(values)]
    spread = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else None
    return {"value": float(values.mean()), "spread": spread}


def together(
    figures: Mapping[str, Mapping[str, Any]], papers: Mapping[str, Paper | None] | None = None
) -> dict[str, Any]:
    """Return the result of a cell whose run has several figures, by column, the cell's own first.

    `papers` has those of the other columns.
    """
    (_, first), *rest = figures.items()
    also = {column: dict(figure) for column, figure in rest}
    for column, paper in (papers or {}).items():
        if column in also and paper is not None:
            also[column] |= {"paper": paper.value, "paper_spread": paper.spread}
    return {**first, "also": also} if also else dict(first)


def last_half(errors: np.ndarray) -> dict[str, Any]:
    """Return the mean error over the last half of the rounds in per cent, and its spread there."""
    tail = 100 * errors[len(errors) // 2 :]
    # The mean of equal errors is off by a rounding error, and so is their spread.
    spread = 0.0 if (tail == tail[0]).all() else float(tail.std())
    return {"value": float(tail.mean()), "spread": spread}


def curve(values: np.ndarray, points: int = 60) -> list[list[float]]:
    """Return some rounds, evenly spaced by ratio, and the values there."""
    rounds = np.unique(np.geomspace(1, len(values), points).round().astype(int))
    return [[int(t), float(values[t - 1])] for t in rounds]

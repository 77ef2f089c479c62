"""``edgewise demo``: train on handwritten digits, explain the model and save it."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgewise.cli import common, params

if TYPE_CHECKING:
    from edgewise import AdaBoostMH

_FOLDER, _ROUNDS = "edgewise-demo", 150
_SIDE = 8


@params.command("demo")
@params.option("--output", "-o", metavar="FOLDER", default=_FOLDER, help="Folder to write to.")
@params.option("--rounds", type=params.COUNT, default=_ROUNDS, help="Number of boosting rounds.")
def demo(output: str, rounds: int) -> None:
    """Train on scikit-learn's handwritten digits and show what the model learned.

    Prints the errors beside their bounds, the most important pixels and the
    strongest rules; saves the model and a learning curve.
    """
    run(output, rounds)


def run(folder: str | os.PathLike[str] = _FOLDER, rounds: int = _ROUNDS) -> "AdaBoostMH":
    """Train on two thirds of the digits, test on the rest, explain the model and save it."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from edgewise import AdaBoostMH
    from edgewise.boosting import ProgressBar

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=1 / 3, stratify=y, random_state=0
    )
    click.echo(f"Products of stumps on handwritten digits ({_SIDE} x {_SIDE} pixels, 10 classes)")
    click.echo(f"{len(y_train):,} digits to train on, {len(y_test)} to test on")
    model = AdaBoostMH("product", preset="paper", n_rounds=rounds, callbacks=[ProgressBar()])
    model.fit(X_train, y_train, eval_set=(X_test, y_test)).set_params(callbacks=None)
    common.raise_if_interrupted(model)
    _print_errors(model)
    click.echo("\nMost important pixels (row, column), by their share of the decrease in loss")
    shares = model.feature_importances_
    for j in (-shares).argsort(kind="stable")[:5].tolist():
        click.echo(f"  {_pixel(j)}   {shares[j]:5.1%}")
    click.echo("\nStrongest rules (where the product is -1, the votes are reversed)")
    for rule in model.rules(3):
        click.echo("  " + re.sub(r"\bx(\d+)", lambda name: _pixel(int(name[1])), str(rule)))
    path = folder / "digits.edgewise"
    model.save(path)
    click.echo(f"\nModel: {path}")
    _draw_learning_curve(model, folder / "learning-curve.png")
    return model


def _print_errors(model: "AdaBoostMH") -> None:
    from edgewise.theory import one_error_bound

    history = model.history_
    error_bound = one_error_bound(history["energy"], len(model.classes_))[-1]
    rows = [
        ("training error", "train_error", f"bound {error_bound:.2%}, sqrt(K - 1) * product of Z"),
        ("Hamming loss", "hamming_loss", f"bound {history.last('bound'):.2%}, product of Z"),
        ("test error", "validation", "on digits that the model has not seen"),
    ]
    click.echo()
    for name, key, note in rows:
        click.echo(f"  {name:<15} {history.last(key):>6.2%}   {note}")


def _draw_learning_curve(model: "AdaBoostMH", path: Path) -> None:
    try:
        from edgewise.plots import BoostingCurveDisplay
        from edgewise.plots.drawing import make_file_figure, save_figure

        figure = make_file_figure(7.0, 5.4)
        panels = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1.25))
        panels[0].set_title(f"AdaBoost.MH on digits, {model.n_rounds_} products", loc="left")
        BoostingCurveDisplay.from_estimator(model, ax=panels)
        save_figure(figure, path)
        click.echo(f"Learning curve: {path}")
    except ImportError as error:
        click.echo(f"Learning curve: not drawn; {error}")


def _pixel(j: int) -> str:
    return f"pixel ({j // _SIDE}, {j % _SIDE})"

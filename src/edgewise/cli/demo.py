"""``edgewise demo``: train on handwritten digits, explain the model, save it and load it again."""

import os
import re
import sys
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from edgewise.boosting import ProgressBar
from edgewise.cli.common import COUNT, command, heading
from edgewise.estimators import AdaBoostMH
from edgewise.loading import load
from edgewise.theory import one_error_bound

_FOLDER, _ROUNDS = "edgewise-demo", 150
_MODEL, _PICTURE = "digits.edgewise", "learning-curve.png"
_SIDE = 8

option = heading("Options")


@command("demo")
@option("--output", "-o", metavar="FOLDER", default=_FOLDER, help="Folder to write to.")
@option("--rounds", type=COUNT, default=_ROUNDS, help="Number of boosting rounds.")
def demo(output: str, rounds: int) -> None:
    """Train on scikit-learn's handwritten digits and show what the model learned.

    Prints the errors beside their bounds, the most important pixels and the
    strongest rules; saves the model and a learning curve.
    """
    run(output, rounds)


def run(
    folder: str | os.PathLike[str] = _FOLDER, rounds: int = _ROUNDS, stream: TextIO | None = None
) -> AdaBoostMH:
    """Train on two thirds of the digits, test on the others, explain the model and save it.

    Parameters
    ----------
    folder : str or path-like, default "edgewise-demo"
        Where to write the model and the learning curve.
    rounds : int, default 150
        Number of boosting rounds.
    stream : text stream, default None
        Where to print; standard output if None.

    Returns
    -------
    AdaBoostMH
        The trained model.

    Examples
    --------
    >>> import io, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = run(folder, rounds=20, stream=io.StringIO())
    >>> model.n_rounds_
    20
    """
    out = sys.stdout if stream is None else stream
    # Fail now rather than after training.
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    X_train, X_test, y_train, y_test = _digits()
    _say(
        out,
        f"Handwritten digits, {_SIDE} x {_SIDE} pixels: {len(y_train)} to train on, "
        f"{len(y_test)} to test on, {len(np.unique(y_train))} classes",
    )
    model = AdaBoostMH("product", n_rounds=rounds, callbacks=[ProgressBar(out)])
    model.fit(X_train, y_train, eval_set=(X_test, y_test)).set_params(callbacks=None)
    if model.stop_reason_ == "interrupted":
        raise KeyboardInterrupt
    _say(out, "")
    _report_errors(out, model)
    _say(out, "")
    _report_features(out, model)
    _say(out, "")
    _report_rules(out, model)
    _say(out, "")
    _report_files(out, model, folder, X_test)
    return model


def _digits() -> list[NDArray]:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    parts: list[NDArray] = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)
    return parts


def _report_errors(out: TextIO, model: AdaBoostMH) -> None:
    history, n_classes = model.history_, len(model.classes_)
    error_bound = one_error_bound(history["energy"], n_classes)[-1]
    pseudo_weights = history["pseudo_weight"]
    rows = [
        (
            "training error",
            f"{history.last('train_error'):.2%}",
            f"at most {error_bound:.2%} = sqrt(K - 1) * product of Z, by the bound",
        ),
        (
            "Hamming loss",
            f"{history.last('hamming_loss'):.2%}",
            f"at most {history.last('bound'):.2%} = product of Z, by the bound",
        ),
        ("test error", f"{history.last('validation'):.2%}", "on digits not trained on"),
        (
            "least w'_Sigma",
            f"{pseudo_weights.min():.3f}",
            f"in round {pseudo_weights.argmin() + 1}: the weight of the round's binary problem",
        ),
    ]
    for name, value, note in rows:
        _say(out, f"  {name:<15} {value:>7}   {note}")


def _report_features(out: TextIO, model: AdaBoostMH) -> None:
    shares = model.feature_importances_
    order = np.argsort(-shares, kind="stable")[:5]
    _say(out, "The five most important pixels (row, column; both from 0):")
    for j in order.tolist():
        _say(out, f"  {_pixel(j)}   {shares[j]:5.1%} of the decrease in loss")


def _report_rules(out: TextIO, model: AdaBoostMH) -> None:
    _say(out, "The strongest rules; a product that is -1 votes the other way round:")
    for rule in model.rules(3):
        _say(out, "  " + re.sub(r"\bx(\d+)", lambda name: _pixel(int(name[1])), str(rule)))


def _report_files(out: TextIO, model: AdaBoostMH, folder: Path, X: NDArray) -> None:
    saved = folder / _MODEL
    model.save(saved)
    again = load(saved)
    if not np.array_equal(again.decision_function(X), model.decision_function(X)):
        raise RuntimeError(f"the model loaded from {saved} does not predict as the trained one")
    _say(
        out,
        f"Model:          {saved}   (loaded again: all {len(X)} test scores equal, bit for bit)",
    )
    try:
        from edgewise.plots import learning_curve

        title = f"AdaBoost.MH on digits, {model.n_rounds_} rounds of products"
        learning_curve(model, folder / _PICTURE, title)
    except ImportError as error:
        _say(out, f"Learning curve: not drawn; {error}")
    else:
        _say(out, f"Learning curve: {folder / _PICTURE}")


def _pixel(j: int) -> str:
    return f"pixel ({j // _SIDE}, {j % _SIDE})"


def _say(out: TextIO, line: str) -> None:
    print(line, file=out, flush=True)

"""Draw error against CPU time, and print it as a table."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from _curves import Record, Results, matching, time_to
from edgewise.plots.drawing import (
    COLORS,
    GRAY,
    INK,
    PALE,
    make_file_figure,
    save_figure,
    style_axes,
)

PEER = "LightGBM"
# A panel shows errors up to this multiple of the smallest one.
SHOWN = 4.0
PEER_LINES = (("-", INK), ("--", INK), (":", GRAY), ("-.", GRAY), ("-", PALE))
OUR_LINES = ("-", "--", ":", "-.")


def merge_results(paths: list[Path], methods: list[str] | None) -> Results:
    """Merge the records of several files; the last one for a data set and method wins."""
    together = Results(None)
    known = {
        (record["data"], record["method"]): record
        for path in paths
        for record in Results(path).records
        if matching([record["method"]], methods)
    }
    together.records = list(known.values())
    return together


def order_data_sets(results: Results, names: list[str]) -> list[str]:
    """Return the data sets with results in the requested order, validation results last."""
    found = results.names()
    parts = [*names, *(f"{name}/validation" for name in names)]
    return [name for name in parts if name in found]


def styles(methods: list[str]) -> dict[str, dict[str, Any]]:
    """Return the line style of each method: other libraries in black and gray, ours in color.

    Methods that differ only in brackets share a color.
    """
    peers = [method for method in methods if method.startswith(PEER)]
    ours: dict[str, list[str]] = {}
    for method in methods:
        if not method.startswith(PEER):
            ours.setdefault(method.split("(")[0], []).append(method)
    drawn: dict[str, dict[str, Any]] = {}
    for place, alike in enumerate(ours.values()):
        for variant, method in enumerate(alike):
            line = OUR_LINES[(place // len(COLORS) + variant) % len(OUR_LINES)]
            color = COLORS[place % len(COLORS)]
            drawn[method] = {"color": color, "ls": line, "lw": 1.8, "zorder": 3}
    for place, method in enumerate(peers):
        line, color = PEER_LINES[place % len(PEER_LINES)]
        drawn[method] = {"color": color, "ls": line, "lw": 1.5, "zorder": 2}
    return drawn


def draw(
    panels: dict[str, dict[str, Record]],
    picture: Path,
    measure: Callable[[str], str] = lambda title: "test error, %",
    across: int = 3,
) -> None:
    """Draw panels, each with a title and labeled curves, and one legend.

    `measure` maps a title to the label of the vertical axis.
    """
    drawn = styles(list(dict.fromkeys(label for curves in panels.values() for label in curves)))
    across = min(across, len(panels) + 1)
    down = -(-len(panels) // across)
    figure = make_file_figure(3.9 * across, 3.1 * down)
    frames = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for axes, (title, curves) in zip(frames, panels.items(), strict=False):
        panel(axes, curves, drawn, title)
        axes.set_ylabel(measure(title), fontsize=9)
    for axes in frames[len(panels) :]:
        axes.axis("off")
    lines = [frames[0].plot([], [], label=label, **style)[0] for label, style in drawn.items()]
    look: dict[str, Any] = {"handles": lines, "frameon": False, "fontsize": 9, "labelcolor": INK}
    if len(frames) > len(panels):
        frames[len(panels)].legend(loc="center left", **look)
    else:
        figure.legend(loc="outside lower center", ncols=across, **look)
    save_figure(figure, picture)


def panel(axes: Any, curves: dict[str, Record], drawn: dict[str, Any], title: str) -> None:
    from matplotlib.ticker import NullFormatter, NullLocator

    least = min(min(record["errors"]) for record in curves.values())
    top = SHOWN * least
    for label, record in curves.items():
        axes.plot(record["seconds"], record["errors"], **drawn[label])
    seen = [s for s in (time_to(record, top) for record in curves.values()) if s < float("inf")]
    last = max(record["seconds"][-1] for record in curves.values())
    axes.set_xscale("log")
    axes.set_yscale("log")
    left, right = max(0.8 * min(seen), 1e-3 * last), 1.1 * last
    axes.set_xlim(left, right)
    axes.set_ylim(0.95 * least, top)
    steps = [step * ten for ten in (0.1, 1, 10) for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)]
    ticks = [tick for tick in steps if 0.95 * least <= tick <= top]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.yaxis.set_minor_locator(NullLocator())
    # Panels that span less than a factor of ten would have one label or none.
    coarse, fine = (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)
    times = [step * 10.0**ten for ten in range(-3, 4) for step in fine]
    shown = [tick for tick in times if left <= tick <= right]
    if len(shown) > len(fine):
        times = [step * 10.0**ten for ten in range(-3, 4) for step in coarse]
        shown = [tick for tick in times if left <= tick <= right]
    axes.set_xticks(shown, [f"{tick:g}" for tick in shown])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("CPU seconds", fontsize=9)
    axes.set_title(title, fontsize=10, color=INK, loc="left")
    style_axes(axes)

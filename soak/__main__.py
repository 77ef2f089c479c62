"""``python -m soak``: run all parts, or some, and write a report."""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

# Set before NumPy loads: workers share the cores already.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from soak.cluster import Cluster
from soak.driver import Part, draw, format_json, format_report, run_part
from soak.explorer import Explorer
from soak.files import Commands, InputFiles, ModelFiles
from soak.frames import Frames
from soak.kills import Disks, Kills
from soak.running import Growth, Threads

PARTS: dict[str, type[Part]] = {
    part.name: part
    for part in (
        *(ModelFiles, InputFiles, Commands, Kills, Cluster, Disks, Frames, Explorer),
        *(Threads, Growth),
    )
}


def main() -> int:
    """Run the parts and return how many of them failed, or tried nothing."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="for all parts together")
    parser.add_argument("--parts", default=",".join(PARTS), help="%(default)s")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the time")
    parser.add_argument("--folder", type=Path, default=Path(".soak"))
    parser.add_argument(
        "--case", type=int, help="run one case of one part here, and show its error"
    )
    arguments = parser.parse_args()
    parts = [PARTS[name] for name in arguments.parts.split(",")]
    # Millions of small files: in memory where that is possible.
    memory = Path("/dev/shm")
    work = (memory if memory.is_dir() else arguments.folder) / f"soak-{os.getpid()}"
    try:
        if arguments.case is not None:
            (part,) = parts
            print(part(work).case(draw(part.name, arguments.seed, arguments.case)))
            return 0
        total, figures = sum(part.share for part in parts), []
        for part in parts:
            seconds = 60 * arguments.minutes * part.share / total
            part_figures = run_part(
                part, work / part.name, arguments.seed, seconds, arguments.workers
            )
            counts = f"{part_figures.total:,} {part_figures.counted}"
            print(f"{part.name}: {counts}, {dict(part_figures.outcomes)}", flush=True)
            figures.append(part_figures)
        arguments.folder.mkdir(exist_ok=True)
        for kept in work.glob("*/*.input"):
            shutil.copy(kept, arguments.folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    report = format_report(figures, f"Soak, seed {arguments.seed}, {arguments.workers} workers")
    (arguments.folder / "report.md").write_text(report)
    (arguments.folder / "report.json").write_text(format_json(figures))
    print(report)
    return sum(bool(figure.failures) or not figure.total for figure in figures)


if __name__ == "__main__":
    sys.exit(main())

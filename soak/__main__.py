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
from soak.driver import Part, as_json, draw, run_part, written
from soak.files import Commands, InputFiles, ModelFiles
from soak.frames import Frames
from soak.kills import Disks, Kills
from soak.running import Growth, Threads

PARTS: dict[str, type[Part]] = {
    part.name: part
    for part in (ModelFiles, InputFiles, Commands, Kills, Cluster, Disks, Frames, Threads, Growth)
}


def main() -> int:
    """Run the parts and return how many of them failed."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="for all parts together")
    parser.add_argument("--parts", default=",".join(PARTS), help="%(default)s")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the time")
    parser.add_argument("--folder", type=Path, default=Path(".soak"))
    parser.add_argument(
        "--case", type=int, help="run one case of one part here, and show its error"
    )
    given = parser.parse_args()
    parts = [PARTS[name] for name in given.parts.split(",")]
    # Millions of small files: in memory where that is possible.
    memory = Path("/dev/shm")
    work = (memory if memory.is_dir() else given.folder) / f"soak-{os.getpid()}"
    try:
        if given.case is not None:
            (part,) = parts
            print(part(work).case(draw(part.name, given.seed, given.case)))
            return 0
        total, figures = sum(part.share for part in parts), []
        for part in parts:
            seconds = 60 * given.minutes * part.share / total
            found = run_part(part, work / part.name, given.seed, seconds, given.workers)
            print(
                f"{found.part}: {found.total:,} {found.counted}, {dict(found.outcomes)}", flush=True
            )
            figures.append(found)
        given.folder.mkdir(exist_ok=True)
        for kept in work.glob("*/*.input"):
            shutil.copy(kept, given.folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    report = written(figures, f"Soak, seed {given.seed}, {given.workers} workers")
    (given.folder / "report.md").write_text(report)
    (given.folder / "report.json").write_text(as_json(figures))
    print(report)
    return sum(bool(one.failures) for one in figures)


if __name__ == "__main__":
    sys.exit(main())

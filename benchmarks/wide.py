"""`stream-bayes train` and `predict`, with `--target` alone, on made-up tables that are far too wide.

    python -m benchmarks.wide [COLUMNS,ROWS,CLASSES ...]      a line of JSON per table; some minutes

By default 1,000 columns and 1,500 rows of 1,000 classes, 30,000 columns and 60 rows, and 100,000 columns, which are
refused by their number. Every second column holds numbers, the others names. One tells the class, as far as five values
can. Each command is a process of its own, whose most memory is printed.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Any

__all__ = ["ended", "main", "write_table"]

TABLES = ("1000,1500,1000", "30000,60,3", "100000,60,3")
VALUES = 5


def write_table(path: Path, columns: int, rows: int, classes: int) -> None:
    """Write a table whose fourth column tells something about the class."""
    source = random.Random(1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"f{k}" for k in range(columns)), "y"])
        for number in range(rows):
            cells = [f"{source.gauss(0.0, 1.0):.3f}" for _ in range(columns)]
            cells[1::2] = [f"v{source.randrange(VALUES)}" for _ in cells[1::2]]
            cells[3] = f"v{number % classes % VALUES}"
            writer.writerow([*cells, f"c{number % classes}"])


# A process begins with the most memory of the one that starts it, so a small one starts the command.
LAUNCHER = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""


def ended(arguments: list[str]) -> dict[str, Any]:
    """Return how a command ended: its code, seconds, most memory, and its last lines."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "stream_bayes", *arguments]
    with NamedTemporaryFile("r") as memory:
        launched = [sys.executable, "-c", LAUNCHER, memory.name, *command]
        done = subprocess.run(launched, capture_output=True, text=True, check=False)
        kilobytes = int(memory.read())
    said = [line[:200] for line in done.stdout.splitlines() if "left out" in line]
    if done.returncode:
        said = [done.stderr.strip().splitlines()[-1]]
    return {
        "exit": done.returncode,
        "seconds": round(time.perf_counter() - start, 1),
        "most_megabytes": kilobytes // 1000,
        "said": said,
    }


def main(tables: list[str]) -> None:
    """Print how the commands ended on each table."""
    for sizes in tables or TABLES:
        columns, rows, classes = map(int, sizes.split(","))
        with TemporaryDirectory() as folder:
            path, model = Path(folder, "table.csv"), str(Path(folder, "model.zip"))
            write_table(path, columns, rows, classes)
            result: dict[str, Any] = {
                "table": sizes,
                "train": ended(["train", str(path), "--target", "y", "--out", model]),
            }
            if not result["train"]["exit"]:
                result["predict"] = ended(
                    ["predict", model, str(path), "--out", str(Path(folder, "out.csv"))]
                )
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])

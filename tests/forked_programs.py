"""Programs as their readers run them, each forked from a process that has imported what takes seconds.

That process knows other packages alone: what a program imports of this one, it imports itself.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["river.datasets", "river.compose", "river.metrics"])
SECONDS = 300.0


def run_programs(programs: Sequence[str | Path], directory: Path) -> list[str]:
    """Run programs, each a text or a file, one after the other in a directory; return what each prints.

    A warning is an error. A program sees no names of those before it.
    """
    with tempfile.TemporaryDirectory(prefix="programs-") as named:
        wrong = Path(named, "wrong")
        paths = [
            program if isinstance(program, Path) else _written(program, Path(named, f"program_{number}.py"))
            for number, program in enumerate(programs, 1)
        ]
        said = [Path(named, f"said-{number}") for number, _ in enumerate(programs)]
        process = FORKING.Process(target=_work, args=(list(zip(paths, said, strict=True)), wrong, directory))
        process.start()
        process.join(SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
        assert process.exitcode == 0, wrong.read_text("utf-8")
        return [path.read_text("utf-8") for path in said]


def _work(programs: list[tuple[Path, Path]], wrong: Path, directory: Path) -> None:
    _point(sys.stderr, wrong)
    os.chdir(directory)
    sys.path.insert(0, str(directory))
    warnings.simplefilter("error")
    sys.warnoptions[:] = ["error"]  # of the processes that it starts
    for program, said in programs:
        _point(sys.stdout, said)
        sys.argv[:] = [str(program)]
        runpy.run_path(str(program), run_name="__main__")
        sys.stdout.flush()


def _written(program: str, path: Path) -> Path:
    path.write_text(program, "utf-8")
    return path


def _point(stream: TextIO, path: Path) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(file, stream.fileno())
    os.close(file)

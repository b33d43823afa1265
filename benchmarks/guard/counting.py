"""Counting instructions: a process in valgrind's callgrind, which forks a child for each path.

Callgrind counts each instruction that the processor is given, in all libraries and the interpreter; the kernel's are
not among them. The processor's own counter (`perf stat -e instructions:u`) is not used: most virtual machines, those of
public CI included, do not have it. A process with one hash seed, fixed addresses and no threads takes the same
instructions in each run, to 1 in 100, whatever else the machine does.

One thing is left to chance: Python keeps the attributes of classes in a cache by the addresses of their names, and two
names of one path that meet in an entry cost it up to 7 % for each event. Where they meet depends on all that was
imported before, so a path is counted in several layouts of memory, and the lowest count is its own.

Callgrind is switched on for the counted piece of each path alone, by `SWITCHES`. The rest runs at four times its speed.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from platform import libc_ver, machine, python_compiler, python_version
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.guard.paths import GuardedPath

__all__ = ["CannotCount", "count", "environment", "lowest"]

ROOT = Path(__file__).parents[2]
SWITCHES = """
#include <valgrind/callgrind.h>

void start(void) {
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
}

void stop(void) {
    CALLGRIND_DUMP_STATS;
    CALLGRIND_STOP_INSTRUMENTATION;
}
"""
PACKAGES = ("cython", "msgspec", "numpy")
# Nothing else of the caller's environment: its length alone moves the stack.
VARIABLES = {
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": os.defpath,
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
}


class CannotCount(Exception):
    """A tool is missing: there are no counts on this machine."""


def compiler() -> str:
    """Return the command that compiles C; empty where there is none."""
    named = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return next((path for name in (named.split()[0], "cc", "gcc") if (path := shutil.which(name))), "")


def first_line(*command: str) -> str:
    """Return the first line that a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.partition("\n")[0]


def configured() -> str:
    """Return the options of this Python's build that make it faster."""
    options = str(sysconfig.get_config_var("CONFIG_ARGS") or "").replace("'", "").split()
    faster = sorted({option for option in options if "optimizations" in option or "lto" in option})
    return " ".join(faster) or "not optimised"


def environment() -> dict[str, str]:
    """Return what counts depend on besides the code: they can be compared only where all of this is equal.

    Raises
    ------
    CannotCount
        If valgrind or a C compiler is missing.
    """
    if not (valgrind := shutil.which("valgrind")):
        raise CannotCount("valgrind is not installed (apt-get install valgrind)")
    if not (cc := compiler()):
        raise CannotCount("there is no C compiler (apt-get install gcc)")
    return {
        "counter": f"callgrind of {first_line(valgrind, '--version')}",
        "machine": machine(),
        "libc": " ".join(libc_ver()),
        "python": f"{python_version()}, {python_compiler()}, {configured()}",
        "compiler": first_line(cc, "--version"),
        **{package: version(package) for package in PACKAGES},
    }


def lowest(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the lowest count of each path."""
    result: dict[str, int] = {}
    for counted in counts:
        result |= {name: min(number, result.get(name, number)) for name, number in counted.items()}
    return result


def count(names: Sequence[str], layout: int = 0, module: str = "benchmarks.guard.paths") -> dict[str, int]:
    """Return the instructions of a piece of each path; the paths are the `PATHS` of a module.

    Counts in two layouts differ by where names and classes are in memory, and by nothing else.

    Raises
    ------
    CannotCount
        If valgrind, its header or a C compiler is missing.
    """
    environment()
    with TemporaryDirectory() as folder:
        switches = Path(folder, "switches.so")
        made = subprocess.run(
            [compiler(), "-shared", "-fPIC", "-x", "c", "-o", switches, "-"],
            input=SWITCHES,
            capture_output=True,
            text=True,
        )
        if made.returncode:
            raise CannotCount(f"callgrind's switches do not compile; is its header here?\n{made.stderr}")
        counted = Path(folder, "counted")
        done = subprocess.run(
            [
                *(shutil.which("valgrind") or "", "--tool=callgrind", "--instr-atstart=no", "--quiet"),
                f"--callgrind-out-file={counted}.%p",
                *(sys.executable, "-m", __name__, str(switches), str(layout), module, *names),
            ],
            cwd=ROOT,
            env={**VARIABLES, "TMPDIR": folder},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"counting failed with status {done.returncode}:\n{done.stdout}{done.stderr}")
        children = done.stdout.split()
        if len(children) != len(names):
            raise RuntimeError(f"expected a process for each of {names}, got {done.stdout!r}\n{done.stderr}")
        files = [Path(f"{counted}.{child}.1") for child in children]
        return {name: total_of(file.read_text()) for name, file in zip(names, files, strict=True)}


def total_of(report: str) -> int:
    """Return the number of instructions in a file of callgrind."""
    line = re.search(r"^totals: (\d+)$", report, re.MULTILINE)
    if line is None:
        raise RuntimeError(f"expected a line with the total in callgrind's report, got {report[-300:]!r}")
    return int(line[1])


def run_counted(path: GuardedPath, switches: ctypes.CDLL) -> None:
    """Run a piece of a path, and count its instructions if this process runs in callgrind."""
    pieces = path.pieces(path.events)
    next(pieces)()
    piece = next(pieces)
    gc.collect()
    switches.start()
    piece()
    switches.stop()


def move_memory(layout: int) -> list[object]:
    """Return objects that move what is made after them, and number its classes differently."""
    names = [f"{number:0{length}}" for length in range(8, 72, 8) for number in range(100 * layout)]
    classes = [type(name, (), {}) for name in names[: 100 * layout]]
    return [
        names,
        classes,
        [hasattr(class_, "name") for class_ in classes],
    ]  # only classes that are asked are numbered


def main(switches: str, layout: str, module: str, *names: str) -> None:
    """Run each path in a child, and print the id of its process."""
    before = move_memory(int(layout))
    paths = {path.name: path for path in import_module(module).PATHS}
    library = ctypes.CDLL(switches)
    gc.collect()
    gc.freeze()  # what a collection takes does not depend on what was imported
    for name in names:
        child = os.fork()
        if child == 0:
            try:
                run_counted(paths[name], library)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            raise SystemExit(f"{name}: its process ended with status {status}")
        print(child, flush=True)
    del before  # kept until here


if __name__ == "__main__":
    main(*sys.argv[1:])

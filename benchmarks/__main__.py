"""`python -m benchmarks`: measure, and say which targets are met."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import stream_bayes
from benchmarks import accuracy
from benchmarks.drift import search
from benchmarks.harness import Case, Result, measure
from benchmarks.networks import live, numbers, questions, structures
from benchmarks.picture import svg_of
from benchmarks.speed import (
    batches,
    engine,
    kafka,
    naive_bayes,
    pairs,
    regression,
    snapshots,
    state,
    text,
    unlearning,
)

__all__ = ["all_cases", "main"]

FAMILIES = (
    text,
    naive_bayes,
    regression,
    batches,
    pairs,
    questions,
    live,
    numbers,
    structures,
    state,
    search,
    snapshots,
    engine,
    unlearning,
    kafka,
)
PACKAGES = ("numpy", "river", "scikit-learn", "pandas", "kafka-python", "confluent-kafka")


def all_cases() -> list[Case]:
    """Return every line of the report, in its order."""
    return [case for family in FAMILIES for case in family.cases()]


def machine() -> dict[str, str]:
    """Return a description of the machine, its Python and its packages."""
    cpu = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named_so = re.search(r"^model name\s*: (.*)$", cpuinfo.read_text(encoding="utf-8"), re.MULTILINE)
        cpu = named_so[1] if named_so else cpu
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "machine": f"{cpu}, {cores} cores, load {load}",
        "system": f"{platform.system()}, {platform.python_implementation()} {platform.python_version()}",
        "versions": f"stream_bayes {stream_bayes.__version__}, "
        + ", ".join(f"{package} {version(package)}" for package in PACKAGES),
    }


def shown(number: float | None) -> str:
    """Return a number with three digits or so."""
    if number is None:
        return ""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def goal(case: Case) -> str:
    """Return the target in words."""
    if case.limit is not None:
        return f"<= {case.limit:g} {case.unit}"
    return "" if case.target is None else f">= {case.target:,g}x"


def table_of(results: Sequence[Result]) -> Table:
    """Return the report."""
    table = Table(
        caption="the best pass of each; us/event unless a unit stands there", caption_justify="left"
    )
    table.add_column("work")
    table.add_column("peer")
    for column in ("peer takes", "ours", "ratio", "target"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("")
    for result in results:
        unit = "" if result.case.unit == "us/event" else f" {result.case.unit}"
        verdict = {True: "[green]met", False: "[bold red]missed", None: ""}[result.met]
        table.add_row(
            result.case.work,
            result.case.peer,
            f"{shown(min(result.peer))}{unit}" if result.peer else "",
            f"{shown(min(result.ours))}{unit}",
            f"{shown(result.ratio)}x" if result.ratio is not None else "",
            goal(result.case),
            verdict,
        )
    return table


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", metavar="PATTERN", help="only the work that this regular expression finds")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write everything that was measured")
    parser.add_argument("--svg", metavar="FILE", type=Path, help="also draw the ratios")
    parser.add_argument(
        "--rounds", metavar="N", type=int, default=10, help="timed passes a side (default 10)"
    )
    options = parser.parse_args(given)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status: 0 even where targets are missed."""
    if not stream_bayes.compiled:
        print(
            "benchmarks: this is the uncompiled build of stream_bayes, whose times mean nothing. "
            "Compile it with: python setup.py build_ext --inplace, and unset STREAM_BAYES_PURE.",
            file=sys.stderr,
        )
        return 2
    options = arguments(given)
    pattern = options.only or ""
    cases = [case for case in all_cases() if re.search(pattern, case.work)]
    streams = [stream for stream in accuracy.STREAMS if re.search(pattern, f"accuracy {stream.name}")]
    if not cases and not streams:
        print(f"benchmarks: no work matches {options.only!r}", file=sys.stderr)
        return 2
    about = machine()
    for line in about.values():
        print(line)
    started = perf_counter()
    results = []
    found = {}
    console = Console(width=None if sys.stdout.isatty() else 190, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        if cases:
            task = progress.add_task("", total=sum(1 if case.once else options.rounds + 1 for case in cases))
            for case in cases:
                progress.update(task, description=case.work)
                results.append(measure(case, options.rounds, lambda: progress.advance(task)))
            console.print(table_of(results))
            judged = [result.met for result in results if result.met is not None]
            console.print(f"{sum(judged)} of {len(judged)} targets met")
        if streams:
            found = accuracy.report(streams, console, progress)
    print(f"took {perf_counter() - started:.0f} s")
    if options.json is not None:
        measured = [result.to_json() for result in results]
        report = {**about, "rounds": options.rounds, "results": measured, "accuracy": found}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.svg is not None:
        options.svg.write_text(svg_of(results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

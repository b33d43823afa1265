"""How far a run has come: while it runs, a bar with events a second and the running accuracy; at the end, a table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from stream_bayes.cli.printing import print_json, print_table
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.progress import Progress as Reached

__all__ = ["bar_over", "print_summary", "summary"]


@contextmanager
def bar_over(engine: Engine, total: int | None, *, quiet: bool = False) -> Iterator[None]:
    """Show a bar on the standard error while the engine runs.

    Parameters
    ----------
    engine
        What runs.
    total
        The position at which the source ends, where that is known.
    quiet
        Whether to show nothing, as for machines.
    """
    if quiet or not _is_watched():
        yield
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[events]:,} events"),
        TextColumn("{task.fields[rate]:,.0f}/s"),
        TextColumn("{task.fields[right]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(engine.step.name, total=total, events=0, rate=0.0, right="")

        def show(reached: Reached) -> None:
            measures = engine.step.losses.windowed
            right = f"{measures.accuracy:.1%} right lately" if measures.weight else ""
            rate = reached.processed_in_run / reached.seconds if reached.seconds else 0.0
            place = max(engine.positions.values(), default=0)
            bar.update(task, completed=place, events=reached.processed, rate=rate, right=right)

        engine.watch(show)
        yield


def _is_watched() -> bool:
    """Whether somebody may be looking."""
    return sys.stderr.isatty()


def summary(engine: Engine) -> dict[str, Any]:
    """What a run came to, as JSON values."""
    step, reached = engine.step, engine.progress
    return {
        "name": step.name,
        "model": step.model.name,
        "delivery": engine.delivery,
        "records": reached.processed,
        "records_in_this_run": reached.processed_in_run,
        "learned": step.learned,
        "learned_in_this_run": reached.learned,
        "dead_letters": dict(step.dead),
        "last_dead_letters": {
            reason: {"position": position, "detail": detail}
            for reason, (position, detail) in step.last_dead.items()
        },
        "waiting": 0 if step.pending is None else step.pending.waiting,
        "seconds": reached.seconds,
        "records_a_second": reached.processed_in_run / reached.seconds if reached.seconds else 0.0,
        "cumulative": step.losses.cumulative.as_dict(),
        "last_1000": step.losses.windowed.as_dict(),
    }


def had_no_label(engine: Engine) -> bool:
    """Whether records were answered and none could be learned from, though labels are to come with them."""
    step = engine.step
    return step.pending is None and not step.learned and step.processed > sum(step.dead.values())


def print_summary(engine: Engine, json: bool) -> None:
    """Print what a run came to."""
    told = summary(engine)
    if json:
        print_json(told)
        return
    measures = [
        {"measure": name.replace("_", " "), "whole stream": value, "last 1,000": told["last_1000"][name]}
        for name, value in told["cumulative"].items()
    ]
    run, learned = told["records_in_this_run"], told["learned_in_this_run"]
    title = f"{told['name']}: {run:,} records, {learned:,} learned by {told['model']}"
    title += f", {told['records_a_second']:,.0f} a second" * bool(run)
    if run != told["records"]:
        title += f"; with earlier runs {told['records']:,} records, {told['learned']:,} learned"
    if engine.step.losses.cumulative.weight:
        print_table(title, measures, right=("whole stream", "last 1,000"))
    else:
        typer.echo(title)
    if had_no_label(engine):
        typer.echo(
            "warning: no record had a label: is the target the name of the field that holds it?", err=True
        )
    for reason, count in told["dead_letters"].items():
        last = told["last_dead_letters"].get(reason)
        said = "" if last is None else f"; the last one at position {last['position']:,}: {last['detail']}"
        typer.echo(f"dead letters, {reason}: {count:,}{said}")

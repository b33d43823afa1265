"""Progress of a run: a bar with events per second and recent accuracy, and a table at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from stream_bayes.cli.data_file import misfits_of, warn_of_misfits
from stream_bayes.cli.output import console, note, print_json, print_table
from stream_bayes.core.measures.variable_errors import TargetMeasures
from stream_bayes.streams.engine.challengers import Challenger
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.progress import Progress as Reached
from stream_bayes.streams.engine.step import Step

__all__ = ["bar_over", "print_summary", "summary"]


@contextmanager
def bar_over(engine: Engine, total: int | None, *, quiet: bool = False) -> Iterator[None]:
    """Show a bar on stderr while the engine runs. `total` is the position at which the source ends, if known. `quiet`
    shows nothing, for output that programs read.
    """
    if quiet or not _is_terminal():
        yield
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[events]:,} events"),
        TextColumn("{task.fields[rate]:,.0f}/s"),
        TextColumn("{task.fields[right]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(engine.step.name, total=total, events=0, rate=0.0, right="")

        def show(reached: Reached) -> None:
            measures = engine.step.losses.windowed
            right = ""
            if measures.weight and isinstance(measures, TargetMeasures):
                recent = {name: each.windowed for name, each in engine.step.losses.by_name.items()}
                right = ", ".join(f"RMSE of {name} {each.rmse:.4g}" for name, each in recent.items())
            elif measures.weight and engine.step.model.predicts_numbers:
                right = f"RMSE {measures.rmse:.4g} recently"
            elif measures.weight:
                right = f"{measures.accuracy:.1%} correct recently"
            if (surprises := engine.step.surprises) is not None and surprises.weight:
                right = f"{surprises.recent_mean:.2f} nats an event recently"
            rate = reached.processed_in_run / reached.seconds if reached.seconds else 0.0
            position = max(engine.positions.values(), default=0)
            bar.update(task, completed=position, events=reached.processed, rate=rate, right=right)

        engine.watch(show)
        yield


def _is_terminal() -> bool:
    return sys.stderr.isatty()


def summary(engine: Engine) -> dict[str, Any]:
    """Return the result of a run as JSON values."""
    step, reached = engine.step, engine.progress
    return {
        "name": step.name,
        "model": step.model.name,
        "delivery": engine.delivery,
        "records": reached.processed,
        "records_in_this_run": reached.processed_in_run,
        "replayed": reached.replayed,
        "learned": step.learned,
        "learned_in_this_run": reached.learned,
        "dead_letters": dict(step.dead_letters.counts),
        "last_dead_letters": {
            reason: {"position": position, "detail": detail}
            for reason, (position, detail) in step.dead_letters.last.items()
        },
        "misfits": {name: each.count for name, each in misfits_of(engine.source).items()},
        "waiting": 0 if step.pending is None else step.pending.waiting,
        "seconds": reached.seconds,
        "records_a_second": reached.processed_in_run / reached.seconds if reached.seconds else 0.0,
        "cumulative": step.losses.cumulative.as_dict(),
        "last_1000": step.losses.windowed.as_dict(),
        "surprise": None if step.surprises is None else step.surprises.as_dict(),
        "errors": _errors(step),
        "challengers": {name: _challenger(each) for name, each in engine.challengers.by_name.items()},
    }


def _errors(step: Step) -> dict[str, Any]:
    """Return the measures of numbers by variable, of a network without a class, or by target."""
    if step.errors is None:
        return {}
    return {
        name: {"cumulative": losses.cumulative.as_dict(), "last_1000": losses.windowed.as_dict()}
        for name, losses in step.errors.by_name.items()
    }


def _challenger(each: Challenger) -> dict[str, Any]:
    return {
        "model": each.step.model.name,
        "since": each.since,
        "learned": each.step.learned,
        "dead_letters": sum(each.step.dead_letters.counts.values()),
        "failure": each.failure,
        "cumulative": each.step.losses.cumulative.as_dict(),
        "last_1000": each.step.losses.windowed.as_dict(),
        "surprise": None if each.step.surprises is None else each.step.surprises.as_dict(),
        "errors": _errors(each.step),
    }


def _standings(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for the pipeline's model and each challenger: their losses over the last 1,000 samples."""
    for name, each in ((f"{result['name']} (answers)", result), *result["challengers"].items()):
        recent = each["last_1000"]
        yield {
            "": name,
            "model": each["model"],
            "since record": each.get("since", 0),
            "learned": each["learned"],
            **{
                f"{loss.replace('_', ' ')}, last 1,000": recent[loss]
                for loss in ("accuracy", "log_loss", "rmse", "coverage")
                if loss in recent
            },
            **(
                {}
                if each["surprise"] is None
                else {"nats an event, last 1,000": each["surprise"]["last_1000"]}
            ),
            "failure": each.get("failure") or "",
        }


def lacks_labels(engine: Engine) -> bool:
    """Return True if records were predicted but none had the label that should come with it."""
    step = engine.step
    return (
        step.pending is None and not step.learned and step.processed > sum(step.dead_letters.counts.values())
    )


def print_summary(engine: Engine, json: bool) -> None:
    """Print the result of a run."""
    result = summary(engine)
    warn_of_misfits(engine.source, lambda line: note([line], quiet=json))
    if json:
        print_json(result)
        return
    surprise, has_scores = result["surprise"], bool(engine.step.losses.cumulative.weight)
    if has_scores or (surprise is not None and result["records_in_this_run"]):
        measures = _measures(result, has_scores=has_scores)
        print_table(_title(result), measures, right=("whole stream", "last 1,000"))
    else:
        typer.echo(_title(result))
    if surprise is not None and surprise["impossible"]:
        typer.echo(
            f"{surprise['impossible']:,} events were impossible before they were learned; the mean leaves them out"
        )
    if surprise is not None and surprise["unscored"]:
        typer.echo(
            f"{surprise['unscored']:,} events could not be scored within the memory budget; the mean leaves them out"
        )
    if result["challengers"]:
        print_table("challengers, on the same records", list(_standings(result)))
    if lacks_labels(engine):
        typer.echo(
            "warning: no record had a label; check that `target` names the field with the labels", err=True
        )
    for reason, count in result["dead_letters"].items():
        last = result["last_dead_letters"].get(reason)
        latest = "" if last is None else f"; latest at position {last['position']:,}: {last['detail']}"
        typer.echo(f"dead letters ({reason}): {count:,}{latest}")


def _title(result: Mapping[str, Any]) -> str:
    run, learned = result["records_in_this_run"], result["learned_in_this_run"]
    title = f"{result['name']}: {run:,} records, {learned:,} learned by {result['model']}"
    title += f", {result['records_a_second']:,.0f} per second" * bool(run)
    title += f", {result['replayed']:,} of them replayed" * bool(result["replayed"])
    if run != result["records"]:
        title += f"; including earlier runs {result['records']:,} records, {result['learned']:,} learned"
    return title


def _measures(result: Mapping[str, Any], *, has_scores: bool) -> list[dict[str, Any]]:
    """Return the rows of the table of measures: of the surprise, of predictions, and of each variable."""
    rows: list[tuple[str, Any, Any]] = []
    if result["surprise"] is not None:
        surprise = result["surprise"]
        rows.append(("surprise, nats an event", surprise["nats_per_event"], surprise["last_1000"]))
    if has_scores:
        newest = result["last_1000"]
        rows += [
            (name.replace("_", " "), value, newest[name]) for name, value in result["cumulative"].items()
        ]
    rows += [
        (f"{measure.replace('_', ' ')} of {name}", value, each["last_1000"][measure])
        for name, each in result["errors"].items()
        for measure, value in each["cumulative"].items()
    ]
    return [dict(zip(("measure", "whole stream", "last 1,000"), row, strict=True)) for row in rows]

"""Running a stream through a model in one call: `run` with arguments, `pipeline` from a pipeline file.

Both build an `Engine`, which keeps model and position together in snapshots. So a run that is started again resumes
where it was, and every event counts once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from stream_bayes.core.events.pending import Pending
from stream_bayes.core.values.values import shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.contracts.sink import DeadLetter, NumberOutput, Output, Result, Sink, TargetsOutput
from stream_bayes.streams.contracts.source import Source
from stream_bayes.streams.engine.engine import BATCH, Engine
from stream_bayes.streams.engine.saving import Schedule
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.files.csv_sink import CSVSink
from stream_bayes.streams.files.json_sink import JSONLinesSink
from stream_bayes.streams.served_models.served import served
from stream_bayes.streams.sinks import CallableSink
from stream_bayes.streams.sources.constructors import (
    LearningTask,
    Roles,
    Streamable,
    from_file,
    from_iterable,
)
from stream_bayes.streams.sources.file_formats import format_of
from stream_bayes.streams.sources.iterable import Item

__all__ = ["Destination", "RunResult", "pipeline", "run"]

# A file (.csv or .jsonl), a function that is called with each batch of results, or a sink.
Destination: TypeAlias = "str | os.PathLike[str] | Callable[[list[Result]], object] | Sink"


@dataclass(frozen=True)
class RunResult:
    """The result of a run.

    Parameters
    ----------
    model
        The model as it is now. After a restart it is the one from the snapshot, not the object that was passed in.
    losses
        Its measures: `losses.cumulative.accuracy`, `losses.windowed`, `losses.fading`.
    processed
        Number of records since the stream began, in this run or an earlier one.
    processed_in_run
        Number of records in this run.
    learned
        Number of samples that the model has learned.
    dead_letters
        Number of records that could not be used, by reason.
    pending
        The samples that wait for their labels; None if the stream has no late labels.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes, streams
    >>> days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
    >>> result = streams.run(days, NaiveBayes())
    >>> result.processed, result.learned, result.dead_letters
    (100, 100, {})
    """

    model: Any
    losses: Any  # Losses, or NumberLosses of a learner of numbers
    processed: int
    processed_in_run: int
    learned: int
    dead_letters: dict[str, int]
    pending: Pending | None


def run(
    stream: Streamable,
    model: Any,
    *,
    target: str | Sequence[str] | None = None,
    key: str | None = None,
    time: str | None = None,
    ignore: Sequence[str] = (),
    name: str = "stream",
    predict: Sequence[str] = (),
    predictions: Destination | None = None,
    dead_letters: Destination | None = None,
    drift_log: Destination | None = None,
    late_labels: Pending | None = None,
    snapshots: str | os.PathLike[str] | None = None,
    every_events: int | None = None,
    every_seconds: float | None = 60.0,
    keep: int = 3,
    max_records: int | None = None,
    until_end: bool = False,
    rebuild: bool = False,
    max_dead_share: float = 1.0,
    batch: int = BATCH,
    level: float | None = None,
) -> RunResult:
    """Run a stream through a model: predict each event, score the prediction, learn the event, write the prediction.

    With `snapshots`, a second call resumes where the first one ended, however that was. From file to file each event
    then has exactly one prediction; a function may be called again with results it has seen.

    Parameters
    ----------
    stream
        A path to a CSV or JSON lines file, an iterable of pairs (x, y), dicts or events, or a source.
    model
        A learner of this package, of labels or of numbers, a classifier of River's, a pipeline that ends in one, a
        `SpamFilter`, or a `BayesNet`, which scores and learns events that have no label.
    target, key, time, ignore
        Fields of a path or of dicts with the label, the key and the time, and fields that are no features.
    name
        Name of the model in the predictions.
    predict
        The variables that a `BayesNet` predicts from the others.
    predictions, dead_letters, drift_log
        Destinations of the predictions, of the records that could not be used, and of the entries of a model that
        follows drift: a file (.csv or .jsonl), a function that takes a list of results, or a sink.
    late_labels
        Settings for labels that come after their samples. Without it a sample without a label is only predicted.
    snapshots
        Directory of the snapshots; without it every run starts from scratch.
    every_events, every_seconds
        Interval between snapshots, in events and in seconds. There is always one at the end.
    keep
        Number of snapshots to keep.
    max_records
        Stop after this number of records.
    until_end
        Stop at the end that a growing file or topic has at the start of the run.
    rebuild
        Start from scratch: ignore snapshots, and empty the destinations.
    max_dead_share
        Stop with `TooManyDeadLetters` if a larger share of the last records cannot be used; 1 never stops.
    batch
        Maximum number of events between two commits.
    level
        For a learner of numbers, the level of the intervals in its predictions; 0.9 by default.

    Raises
    ------
    StreamBayesError
        If an argument is invalid, the stream cannot be read, or a snapshot was taken with another model.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes, streams
    >>> outputs = []
    >>> days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
    >>> result = streams.run(days, NaiveBayes(), predictions=outputs.extend)
    >>> result.processed, result.losses.cumulative.accuracy, outputs[-1].prediction
    (100, 0.98989898989899, 'sun')
    """
    if key is None and isinstance(stream, (str, os.PathLike)) and late_labels is not None:
        raise BadValue("key: expected the field by which labels find their samples")
    step = Step(
        served(model, predict=predict, level=level), name, pending=late_labels, max_dead_share=max_dead_share
    )
    roles: Roles = {"key": key, "time": time, "ignore": ignore}
    if isinstance(stream, (str, os.PathLike)):
        task: LearningTask | None = "regression" if step.model.predicts_numbers else None
        source: Source = from_file(stream, target=target, task=task, **roles)
    elif hasattr(stream, "poll"):
        source = cast("Source", stream)
    else:
        source = from_iterable(cast("Iterable[Item]", stream), target=target, **roles)
    settings = {"model": step.model.settings()}
    if target is not None:
        settings["source"] = {"target": target, "key": key, "time": time, "ignore": sorted(ignore)}
    engine = Engine(
        step,
        source,
        predictions=_sink(predictions, "predictions", step.output_class),
        dead_letters=_sink(dead_letters, "dead_letters", DeadLetter),
        drifts=_sink(drift_log, "drift_log", None),
        store=None if snapshots is None else SnapshotStore(snapshots, keep),
        schedule=Schedule(every_events, every_seconds),
        settings=settings,
        batch=batch,
    )
    progress = engine.run(max_records, rebuild=rebuild, until_end=until_end)
    return RunResult(
        model=step.model.model,
        losses=step.losses,
        processed=progress.processed,
        processed_in_run=progress.processed_in_run,
        learned=step.learned,
        dead_letters=dict(step.dead_letters.counts),
        pending=step.pending,
    )


def pipeline(
    path: str | os.PathLike[str],
    *,
    source: Source | None = None,
    schema: Schema | None = None,
    accept_gap: bool = False,
    rebuild: bool = False,
) -> Engine:
    r"""Return the engine of a pipeline file (TOML), ready for `run()`. Nothing is written before that.

    `stream-bayes run` also serves the metrics of `[ops]` and stops on signals.

    Parameters
    ----------
    path
        The file. Paths in it are relative to it.
    source
        A source to read in place of the file's own.
    schema
        The schema of the stream, if the file declares none.
    accept_gap
        True to go on if records of a topic expired before they were read.
    rebuild
        True if the engine will be run with `rebuild=True`, so that the schema is not taken from a snapshot.

    Raises
    ------
    BadConfig
        If the file is invalid; one line for each key.
    StreamBayesError
        If a part cannot be built.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from stream_bayes import streams
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory, "days.toml")
    ...     _ = path.write_text('''
    ...         name = "days"
    ...         source = { kind = "csv", path = "days.csv", target = "rain" }
    ...         model = { kind = "nb" }
    ...     ''')
    ...     _ = path.with_suffix(".csv").write_text("sky,rain\ngrey,yes\nblue,no\n")
    ...     streams.pipeline(path).run().processed
    2
    """
    from stream_bayes.streams.pipelines.config import load_config
    from stream_bayes.streams.pipelines.pipeline import build

    config = load_config(path)
    return build(config, Path(path).parent, source=source, schema=schema, accept_gap=accept_gap, anew=rebuild)


def _sink(
    destination: Destination | None,
    name: str,
    of: type[Output] | type[NumberOutput] | type[TargetsOutput] | type[DeadLetter] | None,
) -> Sink | None:
    if destination is None or hasattr(destination, "commit"):
        return destination  # type: ignore[return-value]  # a sink
    if callable(destination):
        return CallableSink(destination, name)
    if not isinstance(destination, (str, os.PathLike)):
        raise BadValue(f"{name}: expected a path, a function or a sink, got {shown(destination)}")
    kind = format_of(destination)
    if kind == "jsonl":
        return JSONLinesSink(destination, name)
    if of is None or kind != "csv":
        raise BadValue(f"{name}: expected a {'.csv or ' * (of is not None)}.jsonl file, got {destination}")
    return CSVSink(destination, of, name)

"""Streams in one call each.

evaluate       predict, score and learn a stream with one learner; the result holds its measures and answers
compare        the same for several learners side by side
run            run a stream through a model, with predictions written and state kept in snapshots
pipeline       the engine of a pipeline file (TOML)
follow         a read-only model that follows the counts that workers publish
from_file, from_csv, from_jsonl, from_kafka, from_iterable
               sources, with all their options

>>> from stream_bayes import NaiveBayes, streams
>>> days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
>>> streams.evaluate(days, NaiveBayes()).accuracy
0.98989898989899

The parts behind them are here too: `Engine` and `Step`, sources, sinks, `SnapshotStore`, decoders. A name is imported
when it is first used, so importing this package costs next to nothing.
"""

from typing import TYPE_CHECKING

from stream_bayes.lazy_imports import front

if TYPE_CHECKING:
    from stream_bayes.core.events.event import BadRecord, Event, Kind, Partition
    from stream_bayes.core.events.pending import Pending
    from stream_bayes.core.events.time import EventCount, StreamTime
    from stream_bayes.evaluation.checkpoints import Checkpoint, read_checkpoints, write_checkpoints
    from stream_bayes.evaluation.comparison import Comparison, compare
    from stream_bayes.evaluation.evaluation import Answer, Evaluation, evaluate
    from stream_bayes.evaluation.regression import (
        NumberAnswer,
        RegressionEvaluation,
        RegressionFigures,
        evaluate_regression,
    )
    from stream_bayes.kafka.topics import from_kafka
    from stream_bayes.saving.snapshots.store import SnapshotStore
    from stream_bayes.streams.contracts.sink import (
        DeadLetter,
        DriftEntry,
        IntervalOutput,
        IntervalSetOutput,
        NumberOutput,
        Output,
        ScoredOutput,
        SetOutput,
        Sink,
        TargetsOutput,
    )
    from stream_bayes.streams.contracts.source import Source
    from stream_bayes.streams.engine.engine import Engine
    from stream_bayes.streams.engine.progress import Progress
    from stream_bayes.streams.engine.saving import Schedule
    from stream_bayes.streams.engine.step import Step
    from stream_bayes.streams.files.csv_sink import CSVSink
    from stream_bayes.streams.files.csv_source import CSVSource
    from stream_bayes.streams.files.json_lines import JSONLinesSource
    from stream_bayes.streams.files.json_sink import JSONLinesSink
    from stream_bayes.streams.files.table_profile import inferred_schema
    from stream_bayes.streams.records.decoder import Decoder
    from stream_bayes.streams.records.decoders import make_decoder, register_decoder
    from stream_bayes.streams.records.fields import Fields
    from stream_bayes.streams.records.schema_registry import SchemaRegistry
    from stream_bayes.streams.runs import RunResult, pipeline, run
    from stream_bayes.streams.served_models.protocol import Served
    from stream_bayes.streams.served_models.served import served
    from stream_bayes.streams.service.metrics_and_health import serving
    from stream_bayes.streams.sinks import CallableSink, NoSink
    from stream_bayes.streams.sources.constructors import (
        from_csv,
        from_file,
        from_iterable,
        from_jsonl,
    )
    from stream_bayes.streams.sources.iterable import IterableSource
    from stream_bayes.streams.sources.merged import MergedSource
    from stream_bayes.streams.sources.paced import Paced
    from stream_bayes.workers.follower import follow

# The module of each name.
_MODULES = {
    "core.events.event": ("BadRecord", "Event", "Kind", "Partition"),
    "core.events.pending": ("Pending",),
    "core.events.time": ("EventCount", "StreamTime"),
    "streams.contracts.sink": (
        "DeadLetter",
        "DriftEntry",
        "IntervalOutput",
        "IntervalSetOutput",
        "NumberOutput",
        "Output",
        "ScoredOutput",
        "SetOutput",
        "Sink",
        "TargetsOutput",
    ),
    "streams.contracts.source": ("Source",),
    "streams.engine.engine": ("Engine",),
    "streams.engine.progress": ("Progress",),
    "streams.engine.saving": ("Schedule",),
    "streams.engine.step": ("Step",),
    "evaluation.checkpoints": ("Checkpoint", "read_checkpoints", "write_checkpoints"),
    "evaluation.comparison": ("Comparison", "compare"),
    "evaluation.evaluation": ("Answer", "Evaluation", "evaluate"),
    "evaluation.regression": (
        "NumberAnswer",
        "RegressionEvaluation",
        "RegressionFigures",
        "evaluate_regression",
    ),
    "streams.files.csv_sink": ("CSVSink",),
    "streams.files.csv_source": ("CSVSource",),
    "streams.files.table_profile": ("inferred_schema",),
    "streams.files.json_lines": ("JSONLinesSource",),
    "streams.files.json_sink": ("JSONLinesSink",),
    "saving.snapshots.store": ("SnapshotStore",),
    "streams.served_models.protocol": ("Served",),
    "streams.served_models.served": ("served",),
    "streams.records.decoder": ("Decoder",),
    "streams.records.decoders": ("make_decoder", "register_decoder"),
    "streams.records.schema_registry": ("SchemaRegistry",),
    "streams.records.fields": ("Fields",),
    "workers.follower": ("follow",),
    "streams.runs": ("RunResult", "pipeline", "run"),
    "streams.service.metrics_and_health": ("serving",),
    "streams.sinks": ("CallableSink", "NoSink"),
    "streams.sources.constructors": ("from_csv", "from_file", "from_iterable", "from_jsonl"),
    "kafka.topics": ("from_kafka",),
    "streams.sources.iterable": ("IterableSource",),
    "streams.sources.merged": ("MergedSource",),
    "streams.sources.paced": ("Paced",),
}

__all__ = [
    "Answer",
    "BadRecord",
    "CSVSink",
    "CSVSource",
    "CallableSink",
    "Checkpoint",
    "Comparison",
    "DeadLetter",
    "Decoder",
    "DriftEntry",
    "Engine",
    "Evaluation",
    "Event",
    "EventCount",
    "Fields",
    "IntervalOutput",
    "IntervalSetOutput",
    "IterableSource",
    "JSONLinesSink",
    "JSONLinesSource",
    "Kind",
    "MergedSource",
    "NoSink",
    "NumberAnswer",
    "NumberOutput",
    "Output",
    "Paced",
    "Partition",
    "Pending",
    "Progress",
    "RegressionEvaluation",
    "RegressionFigures",
    "RunResult",
    "Schedule",
    "SchemaRegistry",
    "ScoredOutput",
    "Served",
    "SetOutput",
    "Sink",
    "SnapshotStore",
    "Source",
    "Step",
    "StreamTime",
    "TargetsOutput",
    "compare",
    "evaluate",
    "evaluate_regression",
    "follow",
    "from_csv",
    "from_file",
    "from_iterable",
    "from_jsonl",
    "from_kafka",
    "inferred_schema",
    "make_decoder",
    "pipeline",
    "read_checkpoints",
    "register_decoder",
    "run",
    "served",
    "serving",
    "write_checkpoints",
]

__getattr__, __dir__ = front(__name__, _MODULES)

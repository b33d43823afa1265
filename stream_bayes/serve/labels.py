"""Destinations of labels from people: the label log of a pipeline of files, or the label topic of one from Kafka."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue
from stream_bayes.streams.files.label_log import GivenLabel, LabelWriter
from stream_bayes.streams.pipelines.config import PipelineConfig

__all__ = ["LabelSink", "StoredRequests", "label_sink", "reason_for_no_labels"]

MOST_REQUESTS = 20_000  # that are remembered


class LabelSink(Protocol):
    """Takes labels for the pipeline to read."""

    def write(self, label: GivenLabel) -> int:
        """Write a label so that it outlasts a crash; return its position, by which its outcome is found, or -1."""
        ...

    def recent(self) -> list[tuple[GivenLabel, int]]:
        """Return the newest labels that outlasted a restart, with their positions."""
        ...

    def close(self) -> None:
        """Close the file or the connection."""
        ...


class StoredRequests:
    """The newest requests that gave a label, by idempotency key: a repeated one must not store its label again. Labels
    are written to `sink`; a label log gives back the requests from before a restart.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     requests = StoredRequests(LabelWriter(Path(directory)))
    ...     first = requests.write(GivenLabel("d7", "rain", request="a1"))
    ...     again = requests.write(GivenLabel("d7", "rain", request="a1"))
    >>> first, again
    ((0, True), (0, False))
    """

    def __init__(self, sink: LabelSink) -> None:
        self._sink = sink
        self._by_key: OrderedDict[str, tuple[GivenLabel, int]] = OrderedDict()
        for label, position in sink.recent():
            self._remember(label, position)

    def write(self, label: GivenLabel) -> tuple[int, bool]:
        """Write a label; return its position, and False if its request had stored it already.

        Raises
        ------
        BadValue
            If the key was used for another label.
        """
        stored = None if label.request is None else self._by_key.get(label.request)
        if stored is None:
            position = self._sink.write(label)
            self._remember(label, position)
            return position, True
        before, position = stored
        if before != label:
            raise BadValue(
                f"the Idempotency-Key {shown(label.request)} stored the label {shown(before.label)} of "
                f"{shown(before.key)} before; give each label a key of its own"
            )
        return position, False

    def close(self) -> None:
        """Close where labels are written."""
        self._sink.close()

    def _remember(self, label: GivenLabel, position: int) -> None:
        if label.request is not None:
            self._by_key[label.request] = (label, position)
            if len(self._by_key) > MOST_REQUESTS:
                self._by_key.popitem(last=False)


def reason_for_no_labels(config: PipelineConfig) -> str | None:
    """Return why a pipeline can take no labels, and what to add; None if it can."""
    missing = []
    if config.labels is None:
        missing.append("a table [labels], so that samples can be corrected")
    if config.source.reads_topics:
        if config.labels is not None and config.labels.topic is None:
            missing.append("labels.topic, the topic that labels go to")
        elif config.labels is not None and config.labels_decoder != "json":
            missing.append('labels.decoder = "json", the format in which the service writes labels')
    else:
        if config.source.key is None:
            missing.append("source.key, the field by which labels find their samples")
        if config.snapshots is None:
            missing.append("a table [snapshots], whose directory the label log is in")
    return None if not missing else f"the pipeline file lacks {'; '.join(missing)}"


def label_sink(config: PipelineConfig, directory: Path) -> Callable[[], LabelSink] | None:
    """Return a function that opens the place for labels; None if the pipeline can take none."""
    if reason_for_no_labels(config) is not None:
        return None
    if config.source.reads_topics:
        return lambda: config.source.label_topic(config)
    assert config.snapshots is not None
    snapshots = directory / config.snapshots.directory
    return lambda: LabelWriter(snapshots)

"""Checkpoints: the measures of a learner at one moment of a stream, and their file (JSON lines)."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

import msgspec

from stream_bayes.errors import BadFormat
from stream_bayes.private_files import write_private

__all__ = ["Checkpoint", "Figures", "read_checkpoints", "write_checkpoints"]


class Figures(msgspec.Struct, frozen=True):
    """Measures as in `core.measures`; None where one is not defined."""

    accuracy: float | None  # This and the next four are of the predicted labels.
    kappa: float | None
    kappa_m: float | None
    kappa_t: float | None
    macro_f1: float | None
    # This and the next three are of the probabilities; None for a learner that predicts labels only.
    log_loss: float | None
    brier: float | None
    roc_auc: float | None
    calibration_error: float | None
    f1: dict[str, float]  # of each label


class Checkpoint(msgspec.Struct, frozen=True):
    """The measures of one learner after some events.

    Parameters
    ----------
    learner
        Its name.
    events
        Number of scored events.
    cumulative, windowed, fading
        The measures over all events, over the last ones, and over all with fading weights.
    seconds
        Time spent in predicting and learning.
    memory_bytes
        Size of the learner: the tables of a learner of this package, all reachable objects of another one; None if it
        does not report a size.
    ram_hours
        Gigabytes times hours: the sum over checkpoints of the size times the time since the checkpoint before.
    metrics
        Additional metrics by name.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes, streams
    >>> days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
    >>> result = streams.compare({"nb": NaiveBayes()}, days, every=50)
    >>> [(point.learner, point.events, round(point.cumulative.accuracy, 2)) for point in result.checkpoints]
    [('nb', 50, 0.98), ('nb', 100, 0.99)]
    """

    learner: str
    events: int
    cumulative: Figures
    windowed: Figures
    fading: Figures
    seconds: float
    memory_bytes: int | None
    ram_hours: float | None
    metrics: dict[str, float | None]


def write_checkpoints(checkpoints: Iterable[Checkpoint], path: str | PathLike[str]) -> None:
    """Write a line of JSON for each checkpoint.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from stream_bayes import NaiveBayes, streams
    >>> days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
    >>> result = streams.compare({"nb": NaiveBayes()}, days, every=50)
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory, "points.jsonl")
    ...     streams.write_checkpoints(result.checkpoints, path)
    ...     again = streams.read_checkpoints(path)
    >>> again == result.checkpoints
    True
    """
    lines = b"".join(msgspec.json.encode(checkpoint) + b"\n" for checkpoint in checkpoints)
    write_private(Path(path), lines)


def read_checkpoints(path: str | PathLike[str]) -> list[Checkpoint]:
    """Read the checkpoints of a file that `write_checkpoints` wrote.

    Raises
    ------
    BadFormat
        If a line is not a checkpoint.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from stream_bayes import NaiveBayes, streams
    >>> days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory, "points.jsonl")
    ...     streams.write_checkpoints(streams.compare({"nb": NaiveBayes()}, days).checkpoints, path)
    ...     [point.learner for point in streams.read_checkpoints(path)]
    ['nb']
    """
    decoder = msgspec.json.Decoder(Checkpoint)
    checkpoints = []
    for number, line in enumerate(Path(path).read_bytes().splitlines(), start=1):
        try:
            checkpoints.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadFormat(
                f"{path}, line {number}: expected a checkpoint of an evaluation: {error}"
            ) from error
    return checkpoints

"""Findings in the rows of a table beyond the kinds of its columns: information about the target, duplicates, trends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from stream_bayes.cli.data_file import DataFile, label_amount
from stream_bayes.core.events.event import Event
from stream_bayes.core.measures.mutual_information import MutualInformation, mutual_information
from stream_bayes.errors import BadValue
from stream_bayes.streams.contracts.source import records_of
from stream_bayes.streams.files.telling_columns import number_of
from stream_bayes.streams.sources.binned_labels import cut_points

__all__ = ["ROWS", "Inspection", "inspected"]

ROWS = 20_000  # examined at most
INTERVALS = 8  # of the numbers of a feature, each with equally many
MOST_VALUES = 50  # of a feature; rarer ones together are one
PARTS = 10  # of the rows, for a trend
MOST_CLASSES = 50  # more different numbers are measured, not classes
OTHER, MISSING = "other values", "missing"
NOTHING = MutualInformation(0.0, 0.0, 0.0)


@dataclass
class Inspection:
    """Findings in the first rows of a table."""

    rows: int = 0
    # rows of each label, or of each interval of a target of numbers
    labels: Counter[str] = field(default_factory=Counter)
    # what each feature tells about the label, by falling information
    told: dict[str, MutualInformation] = field(default_factory=dict)
    duplicates: int = 0  # rows that equal an earlier one, label included
    contradictions: int = 0  # rows whose features equal those of an earlier row with another label
    # pairs of features that are equal in every row
    copies: list[tuple[str, str]] = field(default_factory=list)
    # the share of each frequent label in each tenth of the rows, in their order
    trend: dict[str, list[float]] = field(default_factory=dict)
    # what the half that a row is in tells about the label: how much the labels change over the rows
    drift: MutualInformation = NOTHING


def inspected(table: DataFile) -> Inspection:
    """Return what the first rows of a table show. Its source is read."""
    events = [record for record in records_of(table.source, ROWS) if isinstance(record, Event)]
    result = Inspection(len(events))
    labels = _labels(table, events)
    result.labels = Counter(label for label in labels if label is not None)
    seen: dict[tuple[Any, ...], Any] = {}
    for event, label in zip(events, labels, strict=True):
        values = tuple(event.x.items())
        if values in seen:
            result.duplicates += seen[values] == label
            result.contradictions += seen[values] != label
        else:
            seen[values] = label
    columns = _columns(events)
    first: dict[tuple[Any, ...], str] = {}
    for name, cells in columns.items():
        same = first.setdefault(tuple(cells), name)
        if same != name and any(cell is not None for cell in cells):
            result.copies.append((same, name))
    if table.target is not None and len(result.labels) > 1:
        told = {name: _told(_grouped(cells), labels) for name, cells in columns.items()}
        result.told = dict(sorted(told.items(), key=lambda item: -item[1].nats))
        halves = [row * 2 < len(events) for row in range(len(events))]
        result.drift = _told(list(map(str, halves)), labels)
        ends = [len(events) * part // PARTS for part in range(PARTS + 1)]
        for label, _ in result.labels.most_common(6):
            result.trend[label] = [
                labels[start:stop].count(label) / max(stop - start, 1) for start, stop in pairwise(ends)
            ]
    return result


def _labels(table: DataFile, events: Sequence[Event]) -> list[str | None]:
    """Return the label of each row as a text; intervals of numbers where these are measured."""
    if table.target is None:
        return [None] * len(events)
    profile = table.profiles.get(table.target)
    if profile is None or not profile.is_numeric or profile.distinct <= MOST_CLASSES:
        return [None if event.y is None else str(event.y) for event in events]
    amount = label_amount(table)
    return _in_intervals([number_of(event.y, amount) for event in events])


def _columns(events: Sequence[Event]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for event in events for name in event.x)
    return {str(name): [event.x.get(name) for event in events] for name in names}


def _grouped(cells: Sequence[Any]) -> list[str | None]:
    """Return the values of a feature as a few texts: intervals of numbers, frequent names."""
    present = [cell for cell in cells if cell is not None]
    if present and all(isinstance(cell, (int, float)) and not isinstance(cell, bool) for cell in present):
        return [MISSING if group is None else group for group in _in_intervals(cells)]
    frequent = {value for value, _ in Counter(present).most_common(MOST_VALUES)}
    return [MISSING if cell is None else str(cell) if cell in frequent else OTHER for cell in cells]


def _in_intervals(numbers: Sequence[Any]) -> list[str | None]:
    present = [number for number in numbers if number is not None]
    try:
        cuts = np.array(cut_points(present, INTERVALS) if present else [])
    except BadValue:  # all are equal
        cuts = np.array([])
    names = [f"below {cuts[0]:g}" if len(cuts) else "all", *(f"from {cut:g}" for cut in cuts)]
    return [
        None if number is None else names[int(np.searchsorted(cuts, number, "right"))] for number in numbers
    ]


def _told(groups: Sequence[str | None], labels: Sequence[str | None]) -> MutualInformation:
    """Return what groups tell about labels, over the rows that have one."""
    pairs = Counter(pair for pair in zip(groups, labels, strict=True) if pair[1] is not None)
    rows = {group: code for code, group in enumerate(dict.fromkeys(group for group, _ in pairs))}
    columns = {label: code for code, label in enumerate(dict.fromkeys(label for _, label in pairs))}
    counts = np.zeros((len(rows), len(columns)))
    for (group, label), count in pairs.items():
        counts[rows[group], columns[label]] = count
    return mutual_information(counts)

"""The newest events that the service keeps: found by key, filtered, counted by label and prediction, exported."""

from __future__ import annotations

import csv
import io
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any, Literal

import msgspec

from stream_bayes.core.values.spellings import is_spelling
from stream_bayes.serve.plain_values import by_text, label_name

__all__ = ["EventFilter", "EventHistory", "Only", "certainty_of", "confusion_of", "csv_text", "verdict_of"]

EventEntry = dict[str, Any]
Verdict = Literal["right", "wrong", "waits"]
Only = Literal["right", "wrong", "waits", "unsure"]

UNSURE_BELOW = 0.75  # probability of the prediction, where a request gives none
# Columns of an export that every event has; the probabilities and features come after them.
COLUMNS = (
    "id",
    "key",
    "source",
    "partition",
    "position",
    "time",
    "prediction",
    "label",
    "verdict",
    "certainty",
)


def verdict_of(entry: Mapping[str, Any]) -> Verdict | None:
    """Return whether the prediction of an event was right; of a number, whether its interval holds the label. None for
    an event of a model without labels.

    Examples
    --------
    >>> verdict_of({"prediction": "yes", "label": "no"}), verdict_of({"prediction": "yes", "label": None})
    ('wrong', 'waits')
    >>> verdict_of({"prediction": 2.0, "interval": [None, 3.0], "label": 2.5})
    'right'
    """
    label = entry.get("label")
    if label is None:
        return None if "surprise" in entry else "waits"
    if "interval" not in entry:
        return "right" if label == entry["prediction"] else "wrong"
    ends = entry["interval"]
    if ends is None:
        return "wrong"
    low, high = ends
    return "right" if (low is None or low <= label) and (high is None or label <= high) else "wrong"


def certainty_of(entry: Mapping[str, Any]) -> float | None:
    """Return the probability of the prediction; of an answer that is no label, such as "unsure", the largest one. None
    without probabilities, and where several variables are predicted, or a number.

    Examples
    --------
    >>> certainty_of({"prediction": 1.0, "probabilities": {"1.0": 0.7, "2.0": 0.3}})
    0.7
    """
    shares: Mapping[str, Any] = entry.get("probabilities") or {}
    share = shares.get(label_name(entry["prediction"]))
    if share is None and "surprise" not in entry:
        share = max(shares.values(), default=None)
    return share if isinstance(share, float) else None


@dataclass(frozen=True)
class EventFilter:
    """Events to find. `label` and `prediction` are texts; an empty one means none. `text` is searched for in the
    key, the features and the headings, in either case of letters.
    """

    only: Only | None = None
    label: str | None = None
    prediction: str | None = None
    text: str | None = None
    unsure_below: float = UNSURE_BELOW  # probability of the prediction

    def holds(self, entry: Mapping[str, Any]) -> bool:
        """Return True for an event to find."""
        return (
            (self.label is None or _is_named(self.label, entry.get("label")))
            and (self.prediction is None or _is_named(self.prediction, entry["prediction"]))
            and (self.only is None or self._is_only(entry))
            and (self.text is None or self.text.casefold() in _searched(entry))
        )

    def _is_only(self, entry: Mapping[str, Any]) -> bool:
        if self.only == "unsure":
            certainty = certainty_of(entry)
            is_label = label_name(entry["prediction"]) in (entry.get("probabilities") or ())
            return certainty is not None and (certainty < self.unsure_below or not is_label)
        return verdict_of(entry) == self.only


def _is_named(text: str, value: Any) -> bool:
    return text == "" if value is None else label_name(value) == text or is_spelling(text, value)


def _searched(entry: Mapping[str, Any]) -> str:
    """Return all text of an event that people look for, a line for each part."""
    x = entry.get("x")
    parts = [entry["key"], entry.get("subject"), entry.get("sender")]
    parts += [part for pair in x.items() for part in pair] if isinstance(x, Mapping) else [x]
    return "\n".join(label_name(part) for part in parts if part is not None).casefold()


class EventHistory:
    """The newest `most` events, by id and by key.

    Examples
    --------
    >>> history = EventHistory(2)
    >>> history.add([{"id": f"days/0/{k}", "key": k, "prediction": "dry"} for k in range(3)], left_out=5)
    >>> [each["key"] for each in history.newest()], history.of_key(0), history.left_out
    ([2, 1], None, 5)
    >>> [each["key"] for each in history.first], [each["key"] for each in history.since_first()]
    ([0], [2])
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.left_out = 0  # events that came too fast to be kept
        self.first: list[EventEntry] = []  # half as many events as are kept: the reference for what drifts
        self._events: OrderedDict[str, EventEntry] = OrderedDict()
        self._by_key: dict[Any, str] = {}

    def __len__(self) -> int:
        return len(self._events)

    def add(self, entries: Iterable[Mapping[str, Any]], left_out: int = 0) -> None:
        """Add events, and drop the oldest ones past the limit."""
        self.left_out += left_out
        for entry in entries:
            if len(self.first) < self.most // 2:
                self.first.append(dict(entry))
            self._events[entry["id"]] = dict(entry)
            if entry["key"] is not None:
                self._by_key[_hashable(entry["key"])] = entry["id"]
        while len(self._events) > self.most:
            name, oldest = self._events.popitem(last=False)
            key = _hashable(oldest["key"])
            if self._by_key.get(key) == name:
                del self._by_key[key]

    def label(self, key: Any, label: Any) -> None:
        """Set the label of the event with this key, if it is kept."""
        entry = self.of_key(key)
        if entry is None:
            return
        if entry.get("label") is not None and entry["label"] != label:
            entry["corrected_from"] = entry["label"]
        entry["label"] = label

    def since_first(self) -> list[EventEntry]:
        """Return the newest events, at most half of all, that are not among the first ones; the oldest first."""
        last = self.first[-1]["id"] if self.first else None
        after = takewhile(lambda entry: entry["id"] != last, reversed(self._events.values()))
        return list(islice(after, self.most // 2))[::-1]

    def halves(self) -> tuple[list[EventEntry], list[EventEntry]]:
        """Return the older and the newer half of the events, each the oldest first."""
        entries = list(self._events.values())
        return entries[: len(entries) // 2], entries[len(entries) // 2 :]

    def of_id(self, name: str) -> EventEntry | None:
        """Return an event by its id."""
        return self._events.get(name)

    def of_key(self, key: Any) -> EventEntry | None:
        """Return the newest event with this key."""
        return self._events.get(self._by_key.get(_hashable(key), ""))

    def key_of(self, text: str) -> Any:
        """Return the key that has this text; the text itself if there is none."""
        return by_text(text, self._by_key)

    def newest(self) -> list[EventEntry]:
        """Return all events, the newest first."""
        return list(reversed(self._events.values()))


def confusion_of(entries: Iterable[Mapping[str, Any]]) -> dict[tuple[Any, Any], int]:
    """Return the number of events by label and prediction, of those with a label; of numbers there are none.

    Examples
    --------
    >>> confusion_of([{"label": "wet", "prediction": "dry"}, {"label": None, "prediction": "dry"}])
    {('wet', 'dry'): 1}
    """
    return dict(
        Counter(
            (_hashable(entry["label"]), _hashable(entry["prediction"]))
            for entry in entries
            if entry.get("label") is not None and "interval" not in entry
        )
    )


def csv_text(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return events as a table of CSV. Probabilities are columns `p(label)`, features `x(name)`; what is no text,
    number or truth value is written as JSON.

    Examples
    --------
    >>> entry = {"id": "days/0/1", "key": "a", "prediction": "wet", "probabilities": {"wet": 0.9}, "label": None}
    >>> print(csv_text([entry | {"x": {"sky": "grey, low"}}]))  # doctest: +NORMALIZE_WHITESPACE
    id,key,source,partition,position,time,prediction,label,verdict,certainty,p(wet),x(sky)
    days/0/1,a,,,,,wet,,waits,0.9,0.9,"grey, low"
    """
    labels = list(dict.fromkeys(label for entry in entries for label in entry.get("probabilities") or ()))
    names = list(dict.fromkeys(name for entry in entries for name in _features(entry)))
    more = [
        name
        for name in ("interval", "surprise", "subject", "sender")
        if any(name in each for each in entries)
    ]
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(
        [*COLUMNS, *more, *(f"p({label})" for label in labels), *(f"x({name})" for name in names)]
    )
    for entry in entries:
        row = {**entry, "verdict": verdict_of(entry), "certainty": certainty_of(entry)}
        shares, x = entry.get("probabilities") or {}, _features(entry)
        cells = [*(row.get(name) for name in (*COLUMNS, *more)), *map(shares.get, labels), *map(x.get, names)]
        writer.writerow([_cell(value) for value in cells])
    return file.getvalue()


def _features(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    x = entry.get("x")
    return x if isinstance(x, Mapping) else {}


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float)):
        return value
    return msgspec.json.encode(value, enc_hook=str).decode()


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return tuple(map(_hashable, _pairs(value))) if isinstance(value, dict) else value


def _pairs(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return iter(sorted(value.items()))

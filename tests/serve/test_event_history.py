"""The events that the service keeps: filters, the confusion matrix whose cells they open, and exports."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from stream_bayes.serve.event_history import EventFilter, certainty_of, confusion_of, csv_text, verdict_of


def entry(key: Any, label: Any, prediction: Any, share: float = 0.9, **more: Any) -> dict[str, Any]:
    shares = {"true" if prediction is True else str(prediction): share, "other": 1.0 - share}
    named = {"id": f"days/0/{key}", "key": key, "label": label, "prediction": prediction}
    return named | {"probabilities": shares, "x": {"sky": "Grey, low"}} | more


EVENTS = [
    entry(1, 1, 1.0, 0.6),
    entry(2, 2.0, 1.0, sender='a "quoted\\ name"'),
    entry(3, None, True),
    entry("k\u00e4se", "=2+3", "unsure", subject="Pills") | {"probabilities": {"=2+3": 0.8, "ham": 0.2}},
    entry(5, 7.5, 7.0, interval=[None, 8.0]) | {"probabilities": None},
]


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        (EventFilter(), [5, "k\u00e4se", 3, 2, 1]),
        (EventFilter(only="wrong"), ["k\u00e4se", 2]),
        (EventFilter(only="right"), [5, 1]),
        (EventFilter(only="waits"), [3]),
        (EventFilter(only="unsure"), ["k\u00e4se", 1]),
        (EventFilter(only="unsure", unsure_below=0.95), ["k\u00e4se", 3, 2, 1]),
        (EventFilter(label="1"), [1]),
        (EventFilter(label="", prediction="true"), [3]),
        (EventFilter(text="K\u00c4S"), ["k\u00e4se"]),
        (EventFilter(text="pills"), ["k\u00e4se"]),
        (EventFilter(text='"quoted\\'), [2]),
        (EventFilter(text="grey, L", label="2", prediction="1"), [2]),
    ],
)
def test_a_filter_finds_what_it_describes(wanted: EventFilter, keys: list[Any]) -> None:
    assert [each["key"] for each in reversed(EVENTS) if wanted.holds(each)] == keys


def test_each_cell_of_the_confusion_opens_as_many_events() -> None:
    cells = confusion_of(EVENTS)
    assert cells == {(1, 1.0): 1, (2.0, 1.0): 1, ("=2+3", "unsure"): 1}
    for (label, prediction), count in cells.items():
        texts = [each if isinstance(each, str) else json.dumps(each) for each in (label, prediction)]
        wanted = EventFilter(label=texts[0], prediction=texts[1])
        assert sum(map(wanted.holds, EVENTS)) == count


def test_an_export_has_a_cell_for_each_value_as_it_was() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(EVENTS))))
    assert [row["verdict"] for row in rows] == ["right", "wrong", "waits", "wrong", "right"]
    assert rows[0]["p(1.0)"] == "0.6" and rows[1]["x(sky)"] == "Grey, low" and rows[3]["label"] == "=2+3"
    assert rows[4]["interval"] == "[null,8.0]" and rows[4]["p(1.0)"] == ""


def test_events_of_networks_that_predict_numbers_or_several_variables_have_no_certainty() -> None:
    number = {"mean": 2.5, "low": 1.0, "high": 4.0}
    one = {
        "id": "n/0/1",
        "key": 1,
        "label": None,
        "surprise": 3.0,
        "prediction": 2.5,
        "probabilities": number,
    }
    two = one | {
        "prediction": {"wind": 2.5, "sky": "wet"},
        "probabilities": {"wind": number, "sky": {"wet": 0.6}},
    }
    sky = one | {"prediction": "wet", "probabilities": {"wet": 0.6, "dry": 0.4}}
    assert [certainty_of(each) for each in (one, two, sky)] == [None, None, 0.6]
    assert [verdict_of(each) for each in (one, two, sky)] == [None, None, None]
    assert list(map(EventFilter(only="unsure").holds, (one, two, sky))) == [False, False, True]
    assert csv_text([one, two, sky]).count("\r\n") == 4

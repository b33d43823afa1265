"""Writes tests/golden/weka_aode.json: fixed streams, and what WEKA says of their events.

    python -m tests.oracles.weka.make_golden

Needs Java, its compiler, and Maven. The streams come from seeds, so a second run writes the same file.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.oracles.weka.jvm import Row, run, stream_text, version

__all__ = ["GOLDEN", "STREAMS", "Stream"]

GOLDEN = Path(__file__).parents[2] / "golden" / "weka_aode.json"
BAYES = "weka.classifiers.bayes."

RULES = {
    "symbols": (
        "n(...) is the weight of the labelled events with these values, N the weight of all labelled events, C the "
        "number of declared classes, v_i the number of declared values of feature i, m the weight of the m-estimate, "
        "F the frequency limit, y the class asked about, x_i the value asked about."
    ),
    "counting": (
        "An event adds its weight once to the class, to each pair of its values, and to the frequency of each value. "
        "Events without a label are not counted at all. A missing value adds nothing to values and pairs."
    ),
    "eligible": (
        "A feature of the event is a super-parent when its value is present and its class-free frequency, a sum of "
        "weights and not of events, is at least F: >=, not >. The same super-parents answer for all classes. With "
        "F=1 a value that was never seen is not a super-parent, but it is a child: its count is 0."
    ),
    "AODE": (
        "score(y) = mean over the super-parents i of P(y, x_i) * product over the other present features j of "
        "P(x_j | y, x_i). The mean is over the number of super-parents, which is the same for all classes, so the "
        "sum gives the same probabilities. Plain products, no logarithms."
    ),
    "AODE, Laplace": (
        "P(y, x_i) = (n(y, x_i) + 1) / (N - weight of events where i is missing + C v_i). P(x_j | y, x_i) = "
        "(n(y, x_i, x_j) + 1) / (n(y, x_i) - n(y, x_i, j missing) + v_j)."
    ),
    "AODE, m-estimate": (
        "P(y, x_i) = (n(y, x_i) + m / (C v_i)) / (N - weight of events where i is missing + m). P(x_j | y, x_i) = "
        "(n(y, x_i, x_j) + m / v_j) / (n(y, x_i) - n(y, x_i, j missing) + m)."
    ),
    "naive Bayes, when there is no super-parent": (
        "score(y) = P(y) * product over the present features of P(x_i | y). Laplace: P(y) = (n(y) + 1) / (N + C), "
        "P(x_i | y) = (n(y, x_i) + 1) / (n(y, i present) + v_i). m-estimate: P(y) = (n(y) + m / C) / (N + m), "
        "P(x_i | y) = (n(y, x_i) + m / v_i) / (n(y, i present) + m). An event with no value at all gets P(y)."
    ),
    "normalisation": (
        "Scores are divided by their sum over the classes. A sum of 0, or not a number, is an error in WEKA. Before "
        "any event all classes are equally likely."
    ),
    "AODEsr": (
        "As AODE, with the m-estimate by default, after some values of the event were left out, both as super-parents "
        "and as children. x_i is left out when another value x_j of the event has a class-free frequency > "
        "critical (not >=; 50 by default), n(x_i, x_j) == n(x_j) exactly, and n(x_i) > n(x_j), or n(x_i) = n(x_j) "
        "and i comes after j. So of values that only stand together the first stays. An event where j is present and i "
        "is missing breaks the equality. The naive Bayes fallback leaves nothing out."
    ),
    "WAODE": (
        "score(y) = sum over all present features i, without a frequency limit, of I(x_i; y) * P(y, x_i) * product of "
        "P(x_j | y, x_i), divided by the sum of the I(x_i; y). m-estimate with m = 1. I is the mutual information "
        "of the feature, all its values, and the class, from unsmoothed shares; its base cancels. Built of all "
        "events so far before each one. WEKA refuses missing values here, ignores weights, and gives no number "
        "when all information is 0; the streams hold neither, and such rows are not asked about."
    ),
    "tree": (
        "WEKA's TAN, learned from the whole stream, asked about rows of the same stream. The tree has the greatest sum "
        "of conditional mutual information; which end of an edge is the parent is WEKA's own habit. P(y) = (n(y) + "
        "alpha) / (N + alpha C), P(x_j | y, parent) = (n(y, x_parent, x_j) + alpha) / (n(y, x_parent) + alpha v_j); "
        "the root has y alone for a parent. A parent of -1 marks the root."
    ),
}


@dataclass(frozen=True)
class Stream:
    """Events that are codes; a missing value is None."""

    name: str
    classes: int
    values: tuple[int, ...]
    rows: tuple[Row, ...]

    @property
    def missing(self) -> bool:
        return any(None in codes for _, _, codes in self.rows)

    @property
    def weighted(self) -> bool:
        return any(weight != 1.0 for weight, _, _ in self.rows)

    @property
    def text(self) -> str:
        return stream_text(self.classes, self.values, self.rows)

    @property
    def asked(self) -> list[int]:
        """The rows whose probabilities are kept: early ones, then some all along, and the last ones."""
        number = 20 if self.classes < 10 else 12
        spread = {len(self.rows) * step // number for step in range(1, number)}
        return sorted({1, 3, *spread, len(self.rows) - 2, len(self.rows) - 1})


def drawn(
    name: str,
    seed: int,
    classes: int,
    values: tuple[int, ...],
    events: int,
    *,
    missing: float = 0.0,
    weights: tuple[float, ...] = (1.0,),
) -> Stream:
    """Features that depend on the class, and each on the one before it.

    Of ten classes the last is declared but never comes. Of three values or more of the first feature the last comes
    only in the last event but one. Where values are missing, the last event has none at all.
    """
    rng = random.Random(seed)
    rows: list[Row] = []
    for number in range(events):
        label = rng.randrange(classes - (classes >= 10))
        codes: list[int | None] = []
        before = label
        for feature, size in enumerate(values):
            seen = size - 1 if feature == 0 and size > 2 else size
            is_dependent = rng.random() < 0.4
            before = (before * (feature % 3 + 1) + label) % seen if is_dependent else rng.randrange(seen)
            codes.append(None if rng.random() < missing else before)
        if number == events - 2 and values[0] > 2:
            codes[0] = values[0] - 1
        if missing and number == events - 1:
            codes = [None] * len(values)
        rows.append((rng.choice(weights), label, tuple(codes)))
    return Stream(name, classes, values, tuple(rows))


def nested(
    name: str, seed: int, events: int, missing: float = 0.0, weights: tuple[float, ...] = (1.0,)
) -> Stream:
    """Some values imply others: f1 follows from f0, f3 from f1, and f2 is f0 under other codes."""
    rng = random.Random(seed)
    rows: list[Row] = []
    for _ in range(events):
        label = rng.randrange(3)
        fine = rng.choice((label, label + 3, rng.randrange(6)))
        free = (rng.randrange(4), (label + rng.randrange(2)) % 3)
        codes = (fine, fine // 2, (fine + 2) % 6, int(fine // 2 > 0), *free)
        kept = tuple(None if rng.random() < missing else code for code in codes)
        rows.append((rng.choice(weights), label, kept))
    return Stream(name, 3, (6, 3, 6, 2, 4, 3), tuple(rows))


WEIGHTS = (0.5, 1.0, 1.0, 2.0, 3.25)  # sums of these are exact, in whatever order

STREAMS = (
    drawn("two classes", 1, 2, (2, 3, 4, 5, 6, 2, 3, 4), 160),
    drawn("two classes, missing, weights", 2, 2, (4, 3, 2, 6, 5, 2, 3, 2, 4, 3, 2, 5), 120,
          missing=0.12, weights=WEIGHTS),
    drawn("three classes, missing", 3, 3, (3, 2, 4, 6, 2, 5), 150, missing=0.25),
    drawn("three classes, weights", 4, 3, (6, 4, 3, 2, 5), 120, weights=WEIGHTS),
    drawn("ten classes", 5, 10, (4, 3, 6, 2), 150),
    drawn("ten classes, missing, weights", 6, 10, (3, 2, 5, 4, 2), 120, missing=0.15, weights=WEIGHTS),
    nested("nested", 7, 200),
    nested("nested, missing, weights", 8, 200, missing=0.01, weights=WEIGHTS),
)  # fmt: skip

Settings = dict[str, Any]


def settings(stream: Stream) -> Iterator[tuple[str, str, Settings]]:
    """What is asked about a stream: WEKA's class, its options, and what they mean."""
    for min_count in (1, 30):
        common: Settings = {"min_count": min_count, "critical": None, "weights": None}
        yield "AODE", f"-F {min_count}", {"prior": "laplace", "strength": 1} | common
        yield "AODE", f"-M -W 1 -F {min_count}", {"prior": "m-estimate", "strength": 1} | common
    if stream.classes == 3:
        heavy: Settings = {"prior": "m-estimate", "strength": 4, "min_count": 1}
        yield "AODE", "-M -W 4 -F 1", heavy | {"critical": None, "weights": None}
    if stream.name.startswith("nested"):
        for prior, critical, min_count in (
            ("-L", 10, 1),
            ("-M 0.5", 10, 1),
            ("-L", 50, 30),
            ("-M 0.5", 50, 30),
            ("-M 0.5", 5, 60),
        ):
            meaning = (
                {"prior": "laplace", "strength": 1}
                if prior == "-L"
                else {"prior": "m-estimate", "strength": 0.5}
            )
            resolved: Settings = {"min_count": min_count, "critical": critical, "weights": None}
            yield "AODEsr", f"{prior} -C {critical} -F {min_count}", meaning | resolved
    if not stream.missing and not stream.weighted:
        weighed: Settings = {"prior": "m-estimate", "strength": 1, "min_count": 0}
        yield "WAODE", "", weighed | {"critical": None, "weights": "mutual-information"}


def numbers(lines: list[str]) -> list[list[float]]:
    return [[float(field) for field in line.split(",") if field] for line in lines]


def averaged(stream: Stream) -> Iterator[Settings]:
    """What AODE and its kin say of a stream, each event before it is learned."""
    for name, options, meaning in settings(stream):
        numbers_by_row = numbers(run("Probabilities", BAYES + name, *options.split(), stream=stream.text))
        answered_rows = [
            row for row in stream.asked if all(number == number for number in numbers_by_row[row])
        ]
        assert answered_rows == stream.asked or name == "WAODE", (stream.name, name, options)
        about = {"stream": stream.name, "classifier": name, "options": options} | meaning
        yield about | {
            "asked": answered_rows,
            "probabilities": [numbers_by_row[row] for row in answered_rows],
        }


def tree(stream: Stream) -> Settings:
    """The tree of a whole stream, and what it says."""
    first, *lines = run("Tree", "1", stream=stream.text)
    numbers_by_row = numbers(lines)
    asked = stream.asked[::2]
    return {
        "stream": stream.name,
        "alpha": 1,
        "parents": [int(parent) for parent in first.split(",")],
        "asked": asked,
        "probabilities": [numbers_by_row[row] for row in asked],
    }


def laid_out(value: Any, indent: str = "") -> str:
    """JSON with a line for each event and each answer, so that a difference can be read."""
    inner = indent + " "
    if isinstance(value, dict):
        items = [f"{inner}{json.dumps(key)}: {laid_out(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    if isinstance(value, list | tuple) and any(isinstance(item, list | tuple | dict) for item in value):
        items = [
            inner
            + (laid_out(item, inner) if isinstance(item, dict) else json.dumps(item, separators=(",", ":")))
            for item in value
        ]
        return "[\n" + ",\n".join(items) + f"\n{indent}]"
    return json.dumps(value, separators=(",", ":"))


def main() -> None:
    golden = {
        "about": "What WEKA says of fixed streams. Written by tests/oracles/weka/make_golden.py; not by hand.",
        "weka": f"nz.ac.waikato.cms.weka:weka-stable:{version()}, classes of weka.classifiers.bayes",
        "reading": (
            "A row is [weight, label, codes]; null is a missing value. Features are f00, f01, ... in this order. "
            "AODE, AODEsr and WAODE answer for each asked row before they learn it; rows count from 0."
        ),
        "rules": RULES,
        "streams": {
            stream.name: {"classes": stream.classes, "values": stream.values, "rows": stream.rows}
            for stream in STREAMS
        },
        "averaged": [entry for stream in STREAMS for entry in averaged(stream)],
        "trees": [tree(stream) for stream in STREAMS if not stream.missing and not stream.weighted],
    }
    GOLDEN.write_text(laid_out(golden) + "\n", encoding="utf-8")
    print(f"{GOLDEN}: {GOLDEN.stat().st_size} bytes, {len(golden['averaged'])} settings")


if __name__ == "__main__":
    main()

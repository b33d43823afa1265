"""Replay a CSV file as a stream: predict each row, then learn it; stop midway, and resume exactly there."""

import csv
import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory

from stream_bayes import AODE, streams


def write_orders(path: Path, rows: int) -> None:
    """Write orders of a shop. Two kinds of customer pay late."""
    rng = random.Random(7)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["order", "customer", "country", "express", "late"])
        for number in range(rows):
            customer, country = rng.choice(["new", "known", "firm"]), rng.choice("NSEW")
            late = (customer == "new") != (country == "N") and rng.random() < 0.9
            writer.writerow([number, customer, country, rng.choice(["yes", "no"]), late])


with TemporaryDirectory() as directory:
    folder = Path(directory)
    orders = folder / "orders.csv"
    write_orders(orders, 2000)

    # In one line: how good is AODE on this stream?
    result = streams.evaluate(orders, AODE(), target="late", ignore=["order"])
    print(result)
    print(f"the last order was predicted as {result.answers[-1].prediction}")

    # The same with predictions in a file and the state in snapshots. A run that is cut short resumes.
    settings = {
        "target": "late",
        "key": "order",
        "predictions": folder / "answers.jsonl",
        "snapshots": folder / "state",
    }
    first = streams.run(orders, AODE(), max_records=700, **settings)
    second = streams.run(orders, AODE(), **settings)
    print(f"{first.processed} events, then {second.processed_in_run} more: each has one prediction")

    answers = [json.loads(line) for line in (folder / "answers.jsonl").read_text("utf-8").splitlines()]
    assert [answer["key"] for answer in answers] == [str(number) for number in range(2000)]
    assert second.losses.cumulative.accuracy == result.accuracy
    print(f"{second.losses.windowed.accuracy:.1%} of the last thousand predictions were correct")

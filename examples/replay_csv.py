"""Replay a CSV file as a stream: predict each row, then learn it; stop midway, and go on as if nothing had been."""

import csv
import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory

from stream_bayes import AODE
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.files.json_sink import JSONLinesSink
from stream_bayes.streams.files.snapshot_store import SnapshotStore
from stream_bayes.streams.models.served import served
from stream_bayes.streams.records.fields import Fields


def write_orders(path: Path, rows: int) -> None:
    """Orders from a shop; those that are paid late come from two kinds of customer."""
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
    write_orders(folder / "orders.csv", 2000)

    def engine() -> Engine:
        return Engine(
            Step(served(AODE()), name="late-payers"),
            CSVSource(folder / "orders.csv", Fields(target="late", key="order")),
            predictions=JSONLinesSink(folder / "answers.jsonl"),
            store=SnapshotStore(folder / "state"),
        )

    first = engine().run(most=700)  # somebody pulls the plug, or it is simply enough for today
    second = engine()
    progress = second.run()
    print(f"{first.taken} events, then {progress.processed_in_run} more: each has one answer")

    answers = [json.loads(line) for line in (folder / "answers.jsonl").read_text("utf-8").splitlines()]
    assert [answer["key"] for answer in answers] == [str(number) for number in range(2000)]
    print(answers[-1])

    # The same in one go.
    whole = Step(served(AODE()), name="late-payers")
    whole.process(CSVSource(folder / "orders.csv", Fields(target="late", key="order")).poll(2000))
    assert whole.losses.cumulative.accuracy == second.step.losses.cumulative.accuracy
    print(f"{second.step.losses.windowed.accuracy:.1%} of the last thousand were right")

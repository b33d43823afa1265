"""A file of days, and a pipeline over it."""

from __future__ import annotations

import csv
import os
import random
from pathlib import Path

import pytest

from stream_bayes import secret_masking
from stream_bayes.registry import products

ROWS = 600


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs a product which this copy of the package does not have; see `make test-apart`."""
    for mark in item.iter_markers("needs"):
        if not set(mark.args) <= set(products()):
            pytest.skip(f"there is no product {', '.join(mark.args)}")


@pytest.fixture(autouse=True)
def secrets_of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mask in each test only what it reads itself: secrets of tests are ordinary words, which other messages hold."""
    monkeypatch.setattr(secret_masking, "_secrets", set())
    monkeypatch.setattr(secret_masking, "_pattern", None)


@pytest.fixture(autouse=True)
def nothing_waits_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave syncing out: no test cuts the power. Crashes at each step are simulated; see testing/faults.py."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def weather(tmp_path: Path) -> Path:
    rng = random.Random(3)
    path = tmp_path / "weather.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "at", "sky", "wind", "rain"])
        for number in range(ROWS):
            sky = rng.choice(["grey", "blue"])
            rain = "yes" if rng.random() < (0.9 if sky == "grey" else 0.1) else "no"
            writer.writerow([number, number / 10, sky, round(rng.random(), 3), rain])
    return path


@pytest.fixture
def pipeline(tmp_path: Path, weather: Path) -> Path:
    path = tmp_path / "weather.toml"
    path.write_text(
        """
        name = "weather"
        batch = 50

        [source]
        kind = "csv"
        path = "weather.csv"
        target = "rain"
        key = "id"
        time = "at"

        [schema.features]
        sky = "nominal"
        wind = "numeric"

        [model]
        kind = "nb"

        [predictions]
        kind = "jsonl"
        path = "answers.jsonl"

        [snapshots]
        directory = "state"
        every_events = 100
        """
    )
    return path

"""Latitudes and longitudes in one cell, as exports of portals and WKT have them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from stream_bayes import Schema
from stream_bayes.data.coordinates import Coordinates
from stream_bayes.data.declarations import features_table
from stream_bayes.data.kind_inference import inferred_kind
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.records.fields import Fields


@pytest.mark.parametrize("form", ["({}, {})", "{},{}", "{} {}", "[{};{}]", "POINT ({1} {0})"])
def test_a_column_of_positions_becomes_two_numbers(form: str, tmp_path: Path) -> None:
    cells = [form.format(f"40.{k:02}", f"-73.{k:02}") for k in range(1, 40)]
    kind = inferred_kind(Counter(cells))
    assert (kind.word, kind.column, kind.doubt) == ("coordinates", Coordinates(), "")
    path = tmp_path / "shops.csv"
    path.write_text("at|y\n" + "".join(f"{cell}|a\n" for cell in cells))
    schema = Schema({"at": Coordinates()}, target="y")
    source = CSVSource(path, Fields(target="y"), schema, delimiter="|")
    event = source.poll(1)[0]
    source.close()
    assert getattr(event, "x", None) == {"at latitude": 40.01, "at longitude": -73.01}


@pytest.mark.parametrize("texts", [["1.5, 2.5, 3.5"], ["100.5, 200.5"], ["12,5 13,5"], ["10.1-12.2"]])
def test_other_numbers_in_one_cell_are_no_positions(texts: list[str]) -> None:
    assert inferred_kind(Counter(texts * 9)).word != "coordinates"


def test_a_position_is_a_schema_in_json_and_toml_alike() -> None:
    schema = Schema({"at": "coordinates"}, target="y")
    assert schema.columns == {"at": Coordinates()}
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema
    source = 'name = "p"\n[source]\nkind = "csv"\npath = "a.csv"\ntarget = "y"\n[model]\nkind = "nb"\n'
    assert parse_config(source + features_table(schema.columns)).schema_of_stream() == schema

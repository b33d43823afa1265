"""Codes: whole numbers that are names, the same ones however a cell is written and wherever it comes from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes import Code, NaiveBayes, Schema
from stream_bayes.core.events.event import Event
from stream_bayes.core.values.values import Value
from stream_bayes.data.declarations import features_table
from stream_bayes.data.kind_inference import inferred_kind
from stream_bayes.errors import BadValue, SchemaError
from stream_bayes.serve.model_answers import ModelAnswers
from stream_bayes.streams.files.code_columns import code_kind
from stream_bayes.streams.files.csv_format import CSVFormat
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.files.table_profile import profiled_columns
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder

WIDTHS = (0, 3)


@cache
def learned(width: int) -> NaiveBayes:
    """A model of codes of which each stands with a label of its own."""
    schema = Schema({"zip": Code(width)})
    model = NaiveBayes(schema=schema)
    for number in range(-2, 40):
        model.learn_one(schema.read({"zip": number}), number % 3)
    return model


def cells(number: int, width: int) -> list[object]:
    """Every way to write a code in a cell."""
    written = [str(number), f"{number}.0", f" {number} ", str(number).zfill(width), f"{number:0{width}}.0"]
    return [number, float(number), np.int16(number), np.float32(number), *written]


def features(cell: object, schema: Schema, path: Path) -> Iterator[Any]:
    """Yield the features of an event, as each reader makes them."""
    yield schema.read({"zip": cell})
    plain = cell.item() if isinstance(cell, np.generic) else cell
    yield getattr(JSONDecoder(Fields(), schema).decode(json.dumps({"zip": plain}).encode()), "x", None)
    path.write_text(f"zip,row\n{plain},1\n")
    with closing(CSVSource(path, Fields(ignore=("row",)), schema)) as source:
        yield from (event.x for event in source.poll(9) if isinstance(event, Event))
    for frame in (pd.DataFrame({"zip": [cell]}), pl.DataFrame({"zip": [plain]}), {"zip": [plain]}):
        yield schema.lookup(frame).to_dicts()[0]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_way_to_write_a_code_has_the_same_prediction(width: int, tmp_path: Path) -> None:
    model, path, schema = learned(width), tmp_path / "t.csv", Schema({"zip": Code(width)})
    service = ModelAnswers(model)

    @given(st.integers(-3, 42))
    def check(number: int) -> None:
        expected = model.predict_proba_one({"zip": str(number).zfill(width)})
        for cell in cells(number, width):
            read = [*features(cell, schema, path)]
            assert len(read) == 6 and all(x == read[0] for x in read), cell
            assert model.predict_proba_one(read[0]) == expected
            plain = cell.item() if isinstance(cell, np.generic) else cell
            assert service.predict({"zip": plain})["probabilities"] == {
                str(k): p for k, p in expected.items()
            }

    check()


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("A7", "A7"),
        ("7.5", "7.5"),
        (7.5, "7.5"),
        ("-0", "0"),
        (-0.0, "0"),
        ("1e5", "1e5"),
        (10**30, "1" + "0" * 30),
    ],
)
def test_other_texts_are_names_as_they_are(cell: object, name: Value) -> None:
    assert Code().read(cell) == (name,)


@pytest.mark.parametrize("cell", [True, float("inf"), b"7", [7], " "])
def test_what_is_neither_a_number_nor_a_text_is_no_code(cell: object) -> None:
    with pytest.raises(BadValue, match="column 'zip': expected a whole number, or a name, got"):
        Schema({"zip": "code"}).read({"zip": cell})


def test_codes_are_a_schema_in_json_and_toml_alike() -> None:
    schema = Schema({"zip": Code(5), "shop": "code"}, target="y")
    assert schema.columns == {"zip": Code(5), "shop": Code()}
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema
    source = 'name = "p"\n[source]\nkind = "csv"\npath = "a.csv"\ntarget = "y"\n[model]\nkind = "nb"\n'
    assert parse_config(source + features_table(schema.columns)).schema_of_stream() == schema
    for width in (-1, 65, 2.5, True):
        with pytest.raises(SchemaError, match="expected 0 to 64 digits"):
            Code(width)  # type: ignore[arg-type]


def test_digits_of_one_width_with_leading_zeros_are_codes_of_this_width() -> None:
    assert inferred_kind(Counter(["01002", "36101", "09001"])).column == Code(5)
    assert inferred_kind(Counter(["01002", "361", "9001x"])).column != Code(5)


@pytest.mark.parametrize(
    ("texts", "doubt"),
    [
        (["03", "04", "02", "05", "01", "08", "00"], "numbers?"),  # rooms
        (["01", "02", "03"], "numbers?"),
        (["00", "01"], ""),
        (["07", "31", "55"], ""),
        (["0010", "0020", "0030"], ""),
    ],
)
def test_few_numbers_with_leading_zeros_may_be_counts(texts: list[str], doubt: str) -> None:
    kind = inferred_kind(Counter(texts * 20))
    assert (kind.word, kind.doubt) == ("category", doubt)


def test_a_column_is_one_of_codes_by_its_name_or_by_a_column_of_names() -> None:
    towns = [f"town {chr(97 + k)}" for k in range(20)]
    columns = {
        "customer_id": [str(9000 + 7 * (k % 30)) for k in range(200)],
        "ZipCode": [f"{89000 + k % 25}.0" for k in range(200)],
        "OZIP": [str(32600 + 7 * (k % 30)) for k in range(200)],
        "place": [str(31001 + 2 * (k % 20)) for k in range(200)],
        "town": [towns[k % 20] for k in range(200)],
        "year_id": [str(1950 + k % 40) for k in range(200)],
        "PID": [str(k % 7) for k in range(200)],  # a scale
        "Pid": [str(2000 + 17 * (k % 7)) for k in range(200)],
        "cylinders": [str(4 + 2 * (k % 3)) for k in range(200)],
        "row_id": [str(k) for k in range(200)],
        "size_id": [f"{k % 9}.5" for k in range(200)],
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    kinds = {name: code_kind(each) for name, each in profiled_columns(columns, rows, CSVFormat()).items()}
    found = {name: kind.reason for name, kind in kinds.items() if kind is not None}
    key = "whole numbers under the name of a key"
    assert found == {
        "customer_id": key,
        "ZipCode": key,
        "OZIP": key,
        "place": "one for each town",
        "Pid": key,
    }

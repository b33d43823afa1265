"""Whatever stands in a file, the stream goes on: bad records are dead letters, counted, and learned by nobody."""

from __future__ import annotations

import json
import tracemalloc
from base64 import b64decode
from collections import Counter
from pathlib import Path

import pytest

from stream_bayes.errors import BadValue
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.served_models.answers import AnswerDicts

PIPELINE = """
name = "days"
source = {{ kind = "{kind}", path = "days.{kind}", target = "rain"{encoding} }}
model = {{ kind = "nb" }}
predictions = {{ kind = "jsonl", path = "answers" }}
dead_letters = {{ kind = "jsonl", path = "dead" }}
snapshots = {{ directory = "state" }}
max_dead_share = 1.0
"""
GOOD = 20
HUGE = 100_000_000


def reasons(directory: Path, kind: str) -> Counter[str]:
    """Run the pipeline: why records were refused, once all the good ones were answered and learned."""
    encoding = (
        ', encoding = "utf-8"' if kind == "csv" else ""
    )  # of a file with other bytes it would be guessed
    engine = build(parse_config(PIPELINE.format(kind=kind, encoding=encoding)), directory)
    engine.run()
    assert (engine.step.learned, engine.step.model.clock) == (GOOD, GOOD)
    assert len((directory / "answers").read_bytes().splitlines()) == GOOD
    letters = [json.loads(line) for line in (directory / "dead").read_bytes().splitlines()]
    counts = Counter(letter["reason"] for letter in letters)
    assert counts == Counter(engine.step.dead_letters.counts)
    assert all(letter["source"] == "days" and letter["detail"] for letter in letters)
    assert len({letter["position"] for letter in letters}) == len(letters)
    return counts


def test_bad_json_lines_are_dead_letters_and_the_stream_goes_on(tmp_path: Path) -> None:
    good = b'{"sky": "grey", "rain": "yes"}'
    nested = b'{"sky": ' + b"[" * 100_000 + b"]" * 100_000 + b', "rain": "yes"}'
    bad = [
        nested,
        b'{"sky": {"a": {"b": 1}}, "rain": "yes"}',
        b'{"sky": "gr\x00ey", "rain": "yes"}',
        b'{"sky": "\xff\xfe", "rain": "yes"}',
        b'["no", "object"]',
        b'{"sky": "grey", "rain": ["yes"]}',
        b"nothing",
    ]
    lines = [good] * GOOD
    for place, line in enumerate(bad):
        lines.insert(2 * place + 1, line)
    (tmp_path / "days.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    counts = reasons(tmp_path, "jsonl")
    assert counts.total() == len(bad)
    assert (counts["too_deep"], counts["not_utf8"]) == (1, 1)
    assert counts["not_json"] + counts["wrong_type"] == 5


def test_a_record_of_100_megabytes_is_a_dead_letter_that_was_never_in_memory(tmp_path: Path) -> None:
    with (tmp_path / "days.jsonl").open("wb") as file:
        file.write(b'{"sky": "grey", "rain": "yes"}\n' * 10)
        file.write(b'{"sky": "')
        for _ in range(HUGE // 10**6):
            file.write(b"x" * 10**6)
        file.write(b'", "rain": "yes"}\n' + b'{"sky": "grey", "rain": "yes"}\n' * 10)
    tracemalloc.start()
    try:
        assert reasons(tmp_path, "jsonl") == {"too_long": 1}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < HUGE / 10
    (letter,) = map(json.loads, (tmp_path / "dead").read_bytes().splitlines())
    assert len(letter["raw"]) < 10_000


def test_bad_rows_are_dead_letters_and_the_stream_goes_on(tmp_path: Path) -> None:
    good = b"grey,yes"
    bad = [b"grey,yes,more", b"grey", b"\xff,yes", b'"never closed,yes']
    lines = [b"sky,rain", *[good] * GOOD]
    for place, line in enumerate(bad):
        lines.insert(3 * place + 2, line)
    (tmp_path / "days.csv").write_bytes(b"\n".join(lines) + b"\n")
    counts = reasons(tmp_path, "csv")
    assert counts == {"ragged": 2, "not_utf8": 1, "unclosed_quote": 1}


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("csv", "sky,rain\n" + "grey,yes\n" * GOOD + "x" * 60 + ",yes\n"),
        ("jsonl", '{"sky": "grey", "rain": "yes"}\n' * GOOD + '{"sky": "' + "x" * 60 + '", "rain": "yes"}\n'),
    ],
)
def test_how_long_a_record_and_a_batch_may_be_is_what_the_pipeline_says(
    tmp_path: Path, kind: str, content: str
) -> None:
    (tmp_path / f"days.{kind}").write_text(content)
    text = PIPELINE.format(kind=kind, encoding="").replace(
        'target = "rain"', 'target = "rain", max_record_bytes = 50'
    )
    engine = build(parse_config(text + "batch = 7\n"), tmp_path)
    batches: list[int] = []
    engine.watch(lambda progress: batches.append(progress.processed))
    engine.run()
    assert engine.step.dead_letters.counts == {"too_long": 1}
    assert batches == [7, 14, 21]


@pytest.mark.parametrize(
    ("kind", "heading", "lines"),
    [
        ("jsonl", "", ['{"sky": "grey", "rain": "yes"}', '{"sky":   "blue", "w": 1, "rain": "no"}']),
        ("csv", "sky,w,rain\n", ["grey,1.50,yes", 'blue,"2",no']),
    ],
)
def test_a_dead_letter_of_a_decoded_record_has_its_own_bytes(
    tmp_path: Path, kind: str, heading: str, lines: list[str]
) -> None:
    (tmp_path / f"days.{kind}").write_text(heading + "".join(f"{line}\n\n" for line in lines))
    engine = build(parse_config(PIPELINE.format(kind=kind, encoding="")), tmp_path)

    def refuse(xs: list[object], *_: object) -> tuple[object, BadValue]:
        return AnswerDicts([]), BadValue("none is wanted")

    engine.step.model.process = refuse  # type: ignore[method-assign,assignment]  # a model that refuses
    engine.run()
    letters = [json.loads(line) for line in (tmp_path / "dead").read_bytes().splitlines()]
    assert [b64decode(letter["raw"]).decode() for letter in letters] == lines

"""Files that grow, and are rotated: every line is an event once, whenever one looks."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import SourceError
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.files.json_lines import JSONLinesSource
from tests.streams.files.reading import events, polled


class Log:
    """A log that is written to and rotated, and how it is followed."""

    def __init__(self, directory: Path, text: str = "") -> None:
        self.path = directory / "app.log"
        self.time = 10**9
        self.rotations = 0
        self.path.write_text("")
        self.add(text)

    def add(self, text: str | bytes, name: str = "app.log") -> None:
        path = self.path.with_name(name)
        with path.open("ab") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        self.time += 1  # a clock that always goes on, whatever the disk's does
        os.utime(path, (self.time, self.time))

    def rotate(self, text: str = "") -> None:
        """As logrotate does: .1 becomes .2, and the log .1, and a new one is begun."""
        for number in range(self.rotations, 0, -1):
            self.path.with_name(f"app.log.{number}").rename(self.path.with_name(f"app.log.{number + 1}"))
        self.rotations += 1
        self.path.rename(self.path.with_name("app.log.1"))
        self.path.write_text("")
        self.add(text)

    def follow(self, **settings) -> JSONLinesSource:
        self.slept: list[float] = []
        return JSONLinesSource(self.path, follow=True, sleep=self.slept.append, **settings)


def line(number: int) -> str:
    return f'{{"n": {number}}}\n'


def numbers(records) -> list[int]:
    return [record.x["n"] for record in records]


@given(text=st.just("".join(map(line, range(5)))), step=st.integers(1, 9), block_bytes=st.integers(1, 20))
def test_a_line_comes_once_it_is_complete_however_it_is_written(tmp_path_factory, text, step, block_bytes):
    log = Log(tmp_path_factory.mktemp("log"))
    source = log.follow(block_bytes=block_bytes)
    seen = []
    for begin in range(0, len(text), step):
        log.add(text[begin : begin + step])
        seen += polled(source)
        assert numbers(seen) == [*range(text[: begin + step].count("\n"))]
    assert [record.after for record in seen] == [9, 18, 27, 36, 45]
    source.close()


def test_the_end_of_a_log_is_reached_while_the_log_keeps_growing(tmp_path):
    log = Log(tmp_path)
    log.add("".join(map(line, range(4))))
    source = log.follow()
    end = source.fetch_end()
    reached = []
    for number in range(4, 8):
        source.poll(2)
        log.add(line(number))
        reached.append(source.has_reached(end))
    assert reached == [False, True, True, True]
    source.close()


def test_the_end_of_a_file_that_was_not_followed_before_is_reached_at_its_end_and_not_at_once(tmp_path):
    log = Log(tmp_path)
    log.add("".join(map(line, range(6))))
    plain = JSONLinesSource(log.path)
    plain.poll(2)
    source = log.follow()
    source.seek(plain.positions)
    end = source.fetch_end()
    reached = []
    for _ in range(4):
        reached.append(source.has_reached(end))
        source.poll(1)
    assert reached == [False] * 4 and source.has_reached(end)
    plain.close()
    source.close()


def test_a_csv_file_may_grow_from_nothing_byte_by_byte(tmp_path):
    log = Log(tmp_path)
    source = CSVSource(log.path, follow=True, sleep=lambda seconds: None)
    text = '\ufeff"größe\n",b\n1,"2\n"\n\n3,4\n'.encode()
    seen = []
    for byte in text:
        log.add(bytes([byte]))
        seen += polled(source)
    assert [x for x, _ in events(seen)] == [{"größe\n": "1", "b": "2\n"}, {"größe\n": "3", "b": "4"}]
    assert seen[0].position == 0 and seen[-1].after == len(text)
    source.close()


def test_where_nothing_comes_a_poll_takes_a_fraction_of_a_second(tmp_path):
    log = Log(tmp_path)
    source = log.follow()
    assert source.poll(10) == [] and log.slept == [0.1]
    source.close()


def test_a_rotated_file_is_read_to_its_end_before_the_next_one(tmp_path):
    log = Log(tmp_path, line(0))
    source = log.follow()
    assert numbers(polled(source)) == [0]
    log.rotate()
    assert polled(source) == []  # its writer may still be writing to the old one
    log.add(line(1), "app.log.1")
    assert numbers(polled(source)) == [1]
    log.add(line(2), "app.log.1")
    log.add(line(3))
    records = polled(source)
    assert numbers(records) == [2, 3]
    assert [record.position for record in records] == [18, 0]
    assert [record.partition.partition >> 40 for record in records] == [0, 1]
    source.close()


def test_a_half_line_at_the_end_of_a_rotated_file_is_its_last_record(tmp_path):
    log = Log(tmp_path, line(0) + line(1).strip())
    source = log.follow()
    assert numbers(polled(source)) == [0]
    log.rotate(line(2))
    assert numbers(polled(source)) == [1, 2]
    source.close()


def test_two_rotations_between_two_looks_lose_nothing(tmp_path):
    log = Log(tmp_path, line(0))
    source = log.follow()
    assert numbers(polled(source)) == [0]
    log.add(line(1))
    log.rotate(line(2))
    log.rotate(line(3))
    assert numbers(polled(source)) == [1, 2, 3]
    source.close()


WRITING = st.lists(st.sampled_from(["add", "rotate", "look", "restart"]), max_size=20)


@given(steps=WRITING)
def test_whatever_the_writer_does_between_looks_and_restarts_each_line_comes_once(tmp_path_factory, steps):
    log = Log(tmp_path_factory.mktemp("log"), line(0))
    source = log.follow()
    count, seen = 1, []
    for step in [*steps, "restart", "look"]:
        if step == "add":
            log.add(line(count))
            count += 1
        elif step == "rotate":
            log.rotate(line(count))
            count += 1
        elif step == "look":
            seen += numbers(polled(source))
        else:  # a restart from the last snapshot
            positions = source.positions
            source.close()
            source = log.follow()
            source.seek(positions)
            assert source.positions == positions
    assert seen == [*range(count)]
    source.close()


def test_positions_before_the_first_event_are_those_of_the_first_event(tmp_path):
    log = Log(tmp_path, line(0))
    source = log.follow()
    begun = dict(source.positions)
    records = polled(source)
    assert begun == {records[0].partition: 0}
    source.seek(begun)
    assert polled(source) == records
    source.close()


def test_an_empty_log_has_a_position_to_begin_at(tmp_path):
    log = Log(tmp_path)
    source = log.follow()
    begun = dict(source.positions)
    assert begun == {Partition("app.log", 0): 0}
    log.add(line(0))
    source.seek(begun)
    assert numbers(polled(source)) == [0]
    source.close()


def test_a_log_that_is_gone_is_said_to_be_gone(tmp_path):
    log = Log(tmp_path, line(0))
    source = log.follow()
    polled(source)
    positions = source.positions
    source.close()
    log.rotate(line(1))
    log.path.with_name("app.log.1").unlink()
    source = log.follow()
    with pytest.raises(SourceError, match="it was deleted, compressed or replaced"):
        source.seek(positions)
    source.close()


def test_a_log_that_was_copied_and_cut_is_not_mistaken_for_the_same(tmp_path):
    log = Log(tmp_path, line(0))
    source = log.follow()
    polled(source)
    positions = source.positions
    os.truncate(log.path, 0)
    with pytest.raises(
        SourceError, match=r"was cut to 0 bytes while it was read, to byte 9\. Rotate a log by renaming"
    ):
        source.poll(1)
    source.close()
    log.add(line(7) + line(8))  # as long as before, and in the same inode
    source = log.follow()
    with pytest.raises(SourceError, match="it was deleted, compressed or replaced"):
        source.seek(positions)
    source.close()


def test_a_compressed_log_that_comes_next_is_not_passed_over(tmp_path):
    log = Log(tmp_path, line(0))
    source = log.follow()
    polled(source)
    log.rotate(line(1))
    log.rotate(line(2))
    between = log.path.with_name("app.log.1")
    between.unlink()
    log.add(gzip.compress(line(1).encode()), "app.log.1.gz")
    with pytest.raises(SourceError, match=r"app\.log\.1\.gz comes after .* and is compressed"):
        polled(source)
    source.close()


def test_files_beside_a_log_with_other_names_are_not_its_own(tmp_path):
    log = Log(tmp_path, line(0))
    source = log.follow()
    polled(source)
    log.add(line(5), "app.log.bak")
    log.add(line(6), "app.logs.1")
    log.rotate(line(1))
    assert numbers(polled(source)) == [1]
    source.close()


def test_a_compressed_file_cannot_be_followed(tmp_path):
    path = tmp_path / "o"
    path.write_bytes(gzip.compress(b"{}\n"))
    with pytest.raises(
        SourceError, match="is compressed or not in UTF-8, and such a file cannot be followed"
    ):
        JSONLinesSource(path, follow=True)


def test_a_log_that_was_followed_is_followed_again(tmp_path):
    log = Log(tmp_path, line(0))
    source = log.follow()
    polled(source)
    positions = source.positions
    source.close()
    source = JSONLinesSource(log.path)
    with pytest.raises(SourceError, match="was followed before: follow it again"):
        source.seek(positions)
    source.close()

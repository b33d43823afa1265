"""Files that the package writes: for their owner only whatever the umask, and whole after a crash."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import BayesNet, NaiveBayes, plots
from stream_bayes.core.networks.structure import Structure
from stream_bayes.networks import write_network
from stream_bayes.private_files import write_private
from stream_bayes.streams import evaluate


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    mask = os.umask(0)
    yield
    os.umask(mask)


def coin() -> Any:
    net = BayesNet(Structure({"coin": [], "call": ["coin"]}))
    net.learn_one({"coin": "heads", "call": "won"})
    return net


DAYS = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 20
WRITERS: dict[str, Callable[[Path], Any]] = {
    **{
        f"net.{ending}": lambda path: write_network(coin(), path)
        for ending in ("bif", "bif.gz", "xml", "xdsl", "net")
    },
    "graph.svg": lambda path: plots.structure(Structure({"a": [], "b": ["a"]}), path=path),
    "graph.png": lambda path: plots.structure(Structure({"a": [], "b": ["a"]}), path=path),
    "curve.png": lambda path: plots.evaluation(evaluate(DAYS, NaiveBayes()), path=path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_is_for_its_owner_whatever_the_umask_and_what_was_there(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for _ in range(2):
        WRITERS[name](path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and path.stat().st_size
        path.chmod(0o644)
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_a_file_that_cannot_be_written_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    write_private(path, b"old")

    def fail(descriptor: int) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="full"):
        write_private(path, b"new")
    assert path.read_bytes() == b"old" and [each.name for each in tmp_path.iterdir()] == ["t"]


def test_a_link_keeps_leading_to_the_file_and_a_pipe_gets_the_content(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_private(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_bytes() == b"new"
    os.mkfifo(tmp_path / "pipe")
    received: list[bytes] = []
    thread = threading.Thread(target=lambda: received.append((tmp_path / "pipe").read_bytes()))
    thread.start()
    write_private(tmp_path / "pipe", b"new")
    thread.join(60)
    assert received == [b"new"]

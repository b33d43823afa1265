"""Work beside the loop runs on another thread, and hands over what it found or why it failed."""

from __future__ import annotations

import threading

import pytest

from stream_bayes.streams.served_models.background import Background


def test_work_runs_on_another_thread_while_this_one_goes_on() -> None:
    may_end = threading.Event()

    def work() -> str:
        assert may_end.wait(60)
        return threading.current_thread().name

    promised = Background().submit(work)
    assert not promised.done()  # and this thread is here
    may_end.set()
    assert promised.result(60) == "search" != threading.current_thread().name


def test_what_it_raises_is_raised_where_the_result_is_asked_for() -> None:
    def work() -> None:
        raise ValueError("no such structure")

    promised = Background().submit(work)
    with pytest.raises(ValueError, match="no such structure"):
        promised.result(60)


def test_a_process_does_not_wait_for_it() -> None:
    may_end = threading.Event()
    others = set(threading.enumerate())  # some of which may be ending
    promised = Background().submit(may_end.wait)
    (thread,) = set(threading.enumerate()) - others
    assert thread.name == "search" and thread.daemon and not promised.done()
    may_end.set()
    thread.join()

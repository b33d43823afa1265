"""Events at regular times, some of which did not come: `step` fills the gaps that a user would have to fill by hand."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stream_bayes
from stream_bayes import DynamicNetwork, HiddenMarkov, MarkovChain
from stream_bayes.errors import BadValue

MAKERS: dict[str, Callable[..., Any]] = {
    "chain": lambda **settings: MarkovChain("sky", order=2, key="city", **settings),
    "hidden": lambda **settings: HiddenMarkov("sky", [2, 3], key="city", restarts=2, lag=3, **settings),
    "network": lambda **settings: DynamicNetwork(
        {"sky": [1, 2]}, {"sky": ["sky@-1", "sky@-2"]}, key="city", **settings
    ),
}
STEP = 60.0


def tables(model: Any) -> Any:
    """Return what is counted of the sky."""
    if isinstance(model, MarkovChain):
        return model.transitions()
    return model.transition_matrix() if isinstance(model, HiddenMarkov) else model.cpt("sky")


def seen(count: int) -> list[tuple[float, dict[str, Any] | None]]:
    """Return an event of each minute with its time, which is a little off; None where nobody looked."""
    rng, sky, rows = random.Random(3), "dry", []
    for k in range(count):
        sky = sky if rng.random() < 0.8 else {"dry": "wet", "wet": "dry"}[sky]
        x = {"city": "Bonn", "sky": sky} if rng.random() < 0.7 or k == 0 else None
        rows.append((STEP * k + rng.uniform(-9.0, 9.0), x))
    return rows


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_events_that_did_not_come_are_missing_values(make: Callable[..., Any], tmp_path: Path) -> None:
    timed, by_hand, gaps = make(step="1min"), make(), 0
    for at, x in seen(120):
        if x is None:
            by_hand.learn_one({"city": "Bonn"})
            gaps += 1
            continue
        timed.learn_one(x, at=at)
        by_hand.learn_one(x)
    assert tables(timed) == tables(by_hand)
    where = {"city": "Bonn"}
    last = max(at for at, x in seen(120) if x)
    trailing = round((seen(120)[-1][0] - last) / STEP)
    assert (timed.missed_events, timed.dropped_sequences) == (gaps - trailing, 0)
    for ahead in (1, 4):
        later = timed.forecast_one(1, where, at=last + ahead * STEP)
        assert later == pytest.approx(timed.forecast_one(ahead, where, at=last), abs=1e-9)
    stream_bayes.save(timed, tmp_path / "timed.zip")
    loaded = stream_bayes.load(tmp_path / "timed.zip")
    for each in (timed, loaded):
        each.learn_one(
            {"city": "Bonn", "sky": "wet"}, at=last + 300 * STEP
        )  # after more than 100: it starts anew
    assert loaded.state()["checksum"] == timed.state()["checksum"]
    assert timed.missed_events == gaps - trailing
    anew = timed.log_likelihood_one({"city": "Bonn", "sky": "dry"}, last + 500 * STEP)
    assert anew == pytest.approx(timed.log_likelihood_one({"city": "Rome", "sky": "dry"}, last))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_steps_need_times_and_a_longer_pause(make: Callable[..., Any]) -> None:
    with pytest.raises(BadValue, match="step= needs the time of each event"):
        make(step=60).learn_one({"city": "Bonn", "sky": "wet"})
    with pytest.raises(BadValue, match="no longer than step"):
        make(step=60, pause="1min")
    with pytest.raises(BadValue, match="step"):
        make(step=0)
    late = make(step=60)
    for at in (
        600.0,
        0.0,
        660.0,
    ):  # the second comes late: nothing is missing before it, nor before the third
        late.learn_one({"city": "Bonn", "sky": "wet"}, at=at)
    assert late.missed_events == 0


def test_unlearning_whole_sequences_takes_the_gaps_as_learning_did() -> None:
    rows = [(at, x) for at, x in seen(80) if x is not None]
    events, times = [x for _, x in rows], [at for at, _ in rows]
    more = [{"city": "Rome", "sky": "wet" if k % 3 else "dry"} for k in range(20)]
    for name in ("chain", "network"):
        model, rest = MAKERS[name](step=60), MAKERS[name](step=60)
        model.learn_many(events, times)
        for each in (model, rest):
            each.learn_many(more, [STEP * k for k in range(20)])
        model.unlearn_many(events, times)
        assert tables(model) == tables(rest)

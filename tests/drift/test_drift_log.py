"""What a log of drifts holds: entries within bounds, and what has changed in a structure."""

from __future__ import annotations

import json

import pytest

from stream_bayes import KDB, TAN, BayesNetClassifier, DriftAdaptive, LiveChoice, NaiveBayes, SlidingWindow
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.drift.log import KEYS, MOST_ENTRIES, DriftLog, change_between
from stream_bayes.learners.base.edges import edges_of
from stream_bayes.saving.river.drift_logs import drift_logs
from stream_bayes.saving.river.model_state import model_state
from tests.drift.drifting_streams import Stream, again, losses


def test_a_log_is_bounded_and_written_as_lines() -> None:
    log = DriftLog()
    for event in range(MOST_ENTRIES + 5):
        log.add("drift", event, seconds=1.0)
    assert tuple(log.entries[0]) == KEYS
    assert list(log.seconds) == [entry["number"] for entry in log.entries]
    assert [entry["number"] for entry in log.newest(2)] == [MOST_ENTRIES + 3, MOST_ENTRIES + 4]
    assert [entry["event"] for entry in log.entries] == list(range(5, MOST_ENTRIES + 5))
    assert log.counts == {"drift": MOST_ENTRIES + 5} and log.added == MOST_ENTRIES + 5
    assert [json.loads(line)["event"] for line in log.json_lines().splitlines()][:2] == [5, 6]


def turning(number: int, turns: int) -> Stream:
    """A class that follows a feature, and from one event on its opposite."""
    return [({"a": str(n % 2)}, (n + (n >= turns)) % 2) for n in range(number)]


def test_model_and_log_are_shown_in_a_line_with_what_happened() -> None:
    model = DriftAdaptive(NaiveBayes(), "adwin", search_delay=10, renew=False)
    assert str(model) == "DriftAdaptive(NaiveBayes, stable, 0 events, 0 drifts, generation 0)"
    assert (repr(model.log), str(model.log)) == ("DriftLog(no entry)", "no entry")
    losses(model, turning(600, 400))
    assert str(model) == "DriftAdaptive(NaiveBayes, stable, 600 events, 1 drifts, generation 1)"
    assert repr(model.log).startswith("DriftLog(drift 1, ")
    assert len(str(model.log).splitlines()) == len(model.log.entries) == 3


@pytest.mark.parametrize(("signal", "most"), [("log-loss", 5.0), ("error", 1.0)])
def test_an_entry_says_what_was_watched_and_what_was_lost(signal: str, most: float) -> None:
    model = DriftAdaptive(NaiveBayes(), "adwin", signal, search_delay=10, renew=False)
    losses(model, turning(600, 400))
    noticed, searched, adopted = model.log.entries
    for entry in (noticed, searched, adopted):
        assert (entry["signal"], entry["detector"]["name"]) == (signal, "ADWIN")
    assert noticed["detector"]["events"] == noticed["event"] - 1  # the first event had no answer
    assert noticed["score"]["before"] < 0.1 and most / 2 < noticed["score"]["after"] <= most
    assert searched["events"] == noticed["event"] - noticed["since"] + 1
    assert adopted["events"] == adopted["event"] - searched["event"]
    assert adopted["score"]["before"] > 1.0 > adopted["score"]["after"]
    assert {entry["since"] for entry in (searched, adopted)} == {noticed["since"]}


def test_what_is_refused_or_not_finished_says_of_how_many_events() -> None:
    model = DriftAdaptive(
        NaiveBayes(), judge_after=10, trials=2, margin=50.0, renew=False
    )  # which nothing reaches
    losses(model, turning(500, 400))
    noticed, refused = model.log.entries
    assert (refused["event"] - noticed["event"], refused["events"]) == (10 + 20, 20)
    model = DriftAdaptive(BayesNetClassifier(None), search=HillClimbing(max_families=1), renew=False)
    losses(model, turning(500, 400))
    noticed, unfinished = model.log.entries[:2]
    assert (unfinished["what"], unfinished["candidate"]) == ("unfinished", "both")
    assert unfinished["events"] == noticed["event"] - noticed["since"] + 1


def test_events_without_weight_are_not_watched() -> None:
    model = DriftAdaptive(NaiveBayes())
    losses(model, turning(400, 400))
    for x, y in turning(300, 0):
        model.learn_one(x, y, 0.0)
    assert (model.clock, model.log.entries) == (700, [])
    model.learn_one({"a": "0"}, 0)
    assert len(model._succession.recent) == 401


def test_a_snapshot_counts_the_entries_that_have_gone_from_a_log() -> None:
    model = DriftAdaptive(NaiveBayes())
    for event in range(MOST_ENTRIES + 5):
        model.log.add("drift", event)
    other = again(model, lambda: DriftAdaptive(NaiveBayes()))
    assert (other.log.counts, other.log.added) == ({"drift": MOST_ENTRIES + 5}, MOST_ENTRIES + 5)


def test_what_a_snapshot_is_asked_for_says_how_long_a_search_took() -> None:
    model = DriftAdaptive(NaiveBayes())
    model.log.add("drift", 5)
    model.log.add("searched", 25, seconds=2.5)
    [[noticed, searched]] = drift_logs(model_state(model))
    assert "seconds" not in noticed
    assert searched["seconds"] == 2.5


def test_edges_are_told_of_trees_of_several_parents_and_of_names_that_are_tuples() -> None:
    tree, several, within = TAN(), KDB(k=2), SlidingWindow(TAN(), 100)
    for n in range(60):
        for model in (tree, several, within):
            model.learn_one({("a", 1): n % 2 == 0, "b": n % 2 == 0, "c": n % 3 == 0}, n % 5 == 0)
    for model in (tree, several, within):
        model.rederive()
    assert ["('a', 1)", "b"] in edges_of(tree) or ["b", "('a', 1)"] in edges_of(tree)
    assert len(edges_of(several)) == 3
    assert edges_of(NaiveBayes()) == []
    assert edges_of(within) == edges_of(tree) != []


def chosen_from(readings: tuple[str, ...], twins: tuple[str, str]) -> LiveChoice:
    """Two features of four are the same."""
    model = LiveChoice(readings=readings)
    for n in range(240):
        x = {"a": n % 2 == 0, "b": n % 3 == 0, "c": n % 5 < 2, "d": n % 7 < 3}
        x[twins[1]] = x[twins[0]]
        model.learn_one(x, n % 11 < 5)
    model.rederive()
    return model


def test_what_a_choice_of_several_changes_in_its_structure_is_told_of_each() -> None:
    before, after = (chosen_from(("nb", "tan", "spode", "kdb"), twins) for twins in (("a", "b"), ("c", "d")))
    change = change_between(before, after)
    assert list(change["members"]) == ["tan", "spode", "kdb"]
    gone, new = (change["members"]["tan"][what] for what in ("removed", "added"))
    assert gone and new
    assert ["c", "d"] in new or ["d", "c"] in new
    of_one = chosen_from(("tan",), ("c", "d"))
    assert change_between(chosen_from(("tan",), ("a", "b")), of_one)["members"] == {
        "tan": {"added": new, "removed": gone}
    }
    assert edges_of(of_one) == [
        [above, one] for one, above in after.structures_["tan"].items() if above is not None
    ]
    assert all(edges_of(after).count(edge) == 1 for edge in edges_of(of_one))
    assert all(edge in edges_of(after) and edge not in edges_of(before) for edge in change["added"])
    assert "members" not in change_between(TAN(), TAN())
    assert change_between(LiveChoice(readings=("nb", "aode")), LiveChoice(readings=("nb", "aode"))) == {
        "added": [],
        "removed": [],
        "kept": [],
    }


def test_a_swap_of_a_choice_of_several_says_what_each_of_them_changed() -> None:

    def make() -> DriftAdaptive:
        return DriftAdaptive(LiveChoice(readings=("tan", "aode")), judge_after=20)

    model = make()
    for n in range(1600):
        values = [n % 2 == 0, n % 3 == 0, n % 5 < 2]
        twin = values[0] if n < 800 else values[2]  # the pair that stays together is another one
        other = values[2] if n < 800 else values[0]
        x = dict(zip("abcd", [*values, twin], strict=True))
        label = (twin != values[1]) if n < 800 else (other == values[1])
        model.learn_one(x, label)
    (changed, *_) = [entry["structure"] for entry in model.log.entries if entry["what"] == "adopted"]
    assert changed["added"] and changed["removed"]
    assert changed["members"] == {"tan": {name: changed[name] for name in ("added", "removed")}}
    assert again(model, make).log.entries == model.log.entries

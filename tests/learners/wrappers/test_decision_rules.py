"""Rules: costs, bands and thresholds turn probabilities into decisions."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stream_bayes.errors import BadLabel, BadValue, NeverMet, NotSupported
from stream_bayes.learners.wrappers.decision_rules import Costs, Thresholds

LABELS = ["a", 2, True, ("t", 1), "ü", b"bytes", None]  # True is 1 to Python, and 2 is neither

costs_of_a_cell = st.floats(0, 1e6, allow_subnormal=False)


@st.composite
def probabilities(draw, labels):
    weights = draw(st.lists(st.integers(0, 1000), min_size=len(labels), max_size=len(labels)))
    assume(sum(weights))
    return {label: weight / sum(weights) for label, weight in zip(labels, weights, strict=True)}


@st.composite
def problems(draw):
    """A cost matrix as numpy sees it, the same as Costs, and probabilities."""
    labels = LABELS[: draw(st.integers(1, len(LABELS)))]
    rows = draw(
        st.lists(
            st.lists(costs_of_a_cell, min_size=len(labels), max_size=len(labels)), min_size=1, max_size=5
        )
    )
    costs = Costs({f"d{i}": dict(zip(labels, row, strict=True)) for i, row in enumerate(rows)})
    return np.array(rows), costs, draw(probabilities(labels))


def clear_winner(risks):
    """Whether the least risk is the least beyond any rounding."""
    first, *rest = sorted(risks)
    return not rest or rest[0] > first * (1 + 1e-6)


# --- costs ----------------------------------------------------------------------------------------


@given(problems())
def test_risk_is_the_product_of_the_cost_matrix_and_the_probabilities(problem):
    rows, costs, p = problem
    assert list(costs.risk(p)) == list(costs.decisions)
    np.testing.assert_allclose(list(costs.risk(p).values()), rows @ np.array(list(p.values())), rtol=1e-12)


@given(problems())
def test_the_decision_has_the_least_risk(problem):
    _, costs, p = problem
    risks = costs.risk(p)
    assert risks[costs.decide(p)] <= min(risks.values()) * (1 + 1e-8)


@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_the_probabilities_is_irrelevant(problem, random):
    _, costs, p = problem
    items = list(p.items())
    random.shuffle(items)
    assert costs.risk(dict(items)) == costs.risk(p)
    assert costs.decide(dict(items)) == costs.decide(p)


@given(problems())
def test_an_absent_label_has_probability_zero(problem):
    _, costs, p = problem
    assert costs.risk({label: value for label, value in p.items() if value}) == costs.risk(p)


@given(probabilities(["a", "b", "c", "d"]))
def test_zero_one_costs_decide_the_most_probable_label_and_the_first_of_equals(p):
    costs = Costs.zero_one(["a", "b", "c", "d"])
    assert costs.decide(p) == max(p, key=p.__getitem__)


def test_of_equal_risks_the_first_decision_of_the_matrix_is_taken():
    p = {"x": 0.5, "y": 0.5}
    assert Costs.zero_one(["x", "y"]).decide(p) == "x"
    assert Costs.zero_one(["y", "x"]).decide(p) == "y"
    assert Costs.zero_one(["y", "x"], unsure=0.5).decide(p) == "y"


def test_rounding_does_not_break_a_tie():
    assert 3 * 0.1 != 0.3  # the tie is one of numbers, not of floats
    costs = Costs({"first": {"x": 3, "y": 0}, "second": {"x": 0, "y": 1 / 3}})
    assert costs.decide({"x": 0.1, "y": 0.9}) == "first"
    assert costs.decide({"x": math.nextafter(0.1, 1), "y": 0.9}) == "first"
    assert costs.decide({"x": 0.100001, "y": 0.899999}) == "second"


@given(problems(), st.floats(1e-6, 1e6))
def test_scaling_all_costs_changes_no_decision(problem, factor):
    rows, costs, p = problem
    scaled = Costs(
        {
            decision: {label: costs.cost(decision, label) * factor for label in costs.labels}
            for decision in costs.decisions
        }
    )
    assume(clear_winner(rows @ np.array(list(p.values()))))
    assert scaled.decide(p) == costs.decide(p)


@given(problems(), st.integers(-40, 40))
def test_scaling_all_costs_by_a_power_of_two_breaks_no_tie_either(problem, exponent):
    _, costs, p = problem
    assume(all(cost == 0 or cost > 1e-100 for row in costs.rows for cost in row))
    scaled = Costs(
        {
            decision: {label: costs.cost(decision, label) * 2.0**exponent for label in costs.labels}
            for decision in costs.decisions
        }
    )
    assert scaled.decide(p) == costs.decide(p)


@given(st.floats(1e-3, 1e5), st.floats(0, 1))
def test_a_false_positive_c_times_as_dear_means_positive_from_c_over_1_plus_c(times, p):
    threshold = times / (1 + times)
    assume(abs(p - threshold) > 1e-6 * min(threshold, 1 - threshold))
    decision = Costs.false_positive(times).decide({"spam": p, "ham": 1 - p})
    assert decision == ("spam" if p > threshold else "ham")


@given(st.one_of(st.integers(1, 10**5), st.floats(1e-3, 1e5)))
def test_exactly_on_the_threshold_the_decision_is_positive(times):
    threshold = times / (1 + times)
    costs = Costs.false_positive(times)
    assert costs.decide({"spam": threshold, "ham": 1 - threshold}) == "spam"
    assert costs.decide({"ham": 1 / (1 + times), "spam": threshold}) == "spam"
    assert costs.band("spam", "spam") == (threshold, 1.0)


def test_on_the_threshold_the_decision_is_positive_before_it_is_unsure():
    costs = Costs.false_positive(4, unsure=0.8)  # all three meet in 0.8
    assert costs.decide({"spam": 0.8, "ham": 0.2}) == "spam"
    assert costs.band("unsure", "spam") is None


def test_the_labels_of_a_false_positive_can_be_named():
    costs = Costs.false_positive(
        2, positive=True, negative=False, unsure={True: 0.5, False: 0.1}, unsure_as="ask"
    )
    assert costs.decisions == (True, False, "ask")
    assert costs.cost("ask", True) == 0.5
    assert costs.cost(True, False) == 2
    assert costs.decide({False: 0.7, True: 0.3}) == "ask"
    assert costs.decide({np.bool_(False): 0.99, np.bool_(True): 0.01}) is False


@given(st.floats(0.01, 0.6), st.integers(2, 4), st.data())
def test_a_price_for_unsure_with_zero_one_costs_is_a_threshold_of_one_minus_the_price(price, n, data):
    labels = ["a", "b", "c", "d"][:n]
    p = data.draw(probabilities(labels))
    assume(abs(max(p.values()) - (1 - price)) > 1e-6)
    assert Costs.zero_one(labels, unsure=price).decide(p) == Thresholds(1 - price).decide(p)


def test_nothing_learned_is_no_decision():
    for rule in (Costs.zero_one(["a", "b"], unsure=0.1), Thresholds(0.8)):
        assert rule.decide({}) is None
        assert rule.decide({"a": 0.0, "b": 0.0}) is None


def test_risk_of_nothing_is_zero():
    assert Costs.false_positive(3).risk({}) == {"spam": 0.0, "ham": 0.0}


# --- bands ----------------------------------------------------------------------------------------

cell = st.integers(0, 6)


@given(st.lists(st.tuples(cell, cell), min_size=1, max_size=5), st.fractions(0, 1, max_denominator=200))
def test_the_bands_say_what_is_decided(rows, p):
    costs = Costs({i: {"no": row[0], "yes": row[1]} for i, row in enumerate(rows)})
    exact = [row[0] * (1 - p) + row[1] * p for row in rows]
    decision = exact.index(min(exact))
    assert costs.decide({"yes": float(p), "no": float(1 - p)}) == decision
    for i in costs.decisions:
        band = costs.band(i, "yes")
        inside = band is not None and band[0] + 1e-9 < p < band[1] - 1e-9
        if inside:
            assert i == decision
        if i == decision:
            assert band is not None
            assert band[0] - 1e-9 <= p <= band[1] + 1e-9


@given(st.lists(st.tuples(cell, cell), min_size=1, max_size=5))
def test_the_bands_cover_all_probabilities_once(rows):
    costs = Costs({i: {"no": row[0], "yes": row[1]} for i, row in enumerate(rows)})
    bands = [band for i in costs.decisions if (band := costs.band(i, "yes"))]
    assert math.isclose(sum(high - low for low, high in bands), 1.0)


@given(st.lists(st.tuples(cell, cell), min_size=1, max_size=5))
def test_the_band_of_one_label_mirrors_that_of_the_other(rows):
    costs = Costs({i: {"no": row[0], "yes": row[1]} for i, row in enumerate(rows)})
    for i in costs.decisions:
        yes, no = costs.band(i, "yes"), costs.band(i, "no")
        assert (yes is None) == (no is None)
        if yes and no:
            assert yes == pytest.approx((1 - no[1], 1 - no[0]))


def test_a_decision_may_be_taken_at_a_single_probability():
    costs = Costs({"yes": {"yes": 0, "no": 1}, "no": {"yes": 0, "no": 0}})
    assert costs.band("yes", "yes") == (1.0, 1.0)
    assert costs.band("no", "yes") == (0.0, 1.0)


def test_a_band_needs_two_labels_and_known_names():
    with pytest.raises(NotSupported, match="two labels"):
        Costs.zero_one(["a", "b", "c"]).band("a", "a")
    with pytest.raises(BadLabel, match="decision 'maybe'"):
        Costs.zero_one(["a", "b"]).band("maybe", "a")
    with pytest.raises(BadLabel, match="label 'z'"):
        Costs.zero_one(["a", "b"]).band("a", "z")


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [-1, -1e-300, math.inf, math.nan, None, "1", 10**400, 1j])
def test_a_cost_that_is_no_finite_number_of_at_least_zero_is_refused_by_its_place(bad):
    with pytest.raises(BadValue, match="deciding 'd' when the truth is 'y'"):
        Costs({"d": {"x": 1, "y": bad}})
    with pytest.raises(BadValue, match="deciding 'spam' when the truth is 'ham'"):
        Costs.false_positive(bad)
    if bad is not None:
        with pytest.raises(BadValue, match="deciding 'unsure'"):
            Costs.zero_one(["a"], unsure=bad)


def test_any_real_number_is_a_cost():
    row: dict[str, Any] = {"x": Fraction(1, 2), "y": np.float32(0.5), "z": np.int64(3)}
    costs = Costs({"d": row})
    assert costs.rows == ((0.5, 0.5, 3.0),)
    assert {type(cost) for cost in costs.rows[0]} == {float}


def test_a_missing_cell_is_refused_by_its_place():
    with pytest.raises(BadLabel, match="deciding 'b' has no cost for the label 'x'"):
        Costs({"a": {"x": 0, "y": 1}, "b": {"y": 0}})
    with pytest.raises(BadLabel, match="deciding 'unsure' has no cost for the label 'ham'"):
        Costs.false_positive(9, unsure={"spam": 0.1})
    with pytest.raises(BadLabel, match="deciding 'spam' has no cost for the label 'hma'"):
        Costs.false_positive(9, unsure={"spam": 0.1, "ham": 0.2, "hma": 0.2})


@pytest.mark.parametrize("matrix", [{}, {"a": {}}, {"a": {}, "b": {}}])
def test_a_matrix_without_cells_is_refused(matrix):
    with pytest.raises(BadValue, match="at least one decision and label"):
        Costs(matrix)


@pytest.mark.parametrize("matrix", [[[0, 1], [5, 0]], None, "spam", 3])
def test_a_matrix_that_is_no_mapping_is_refused_with_one_that_is(matrix):
    with pytest.raises(BadValue, match=r"costs are \{decision: \{label: cost\}\}"):
        Costs(matrix)


def test_a_row_that_is_no_mapping_is_refused():
    with pytest.raises(BadValue, match="deciding 'a'"):
        Costs({"a": [0, 1]})  # type: ignore[dict-item]  # wrong on purpose


def test_unsure_and_the_two_labels_must_be_distinct():
    with pytest.raises(BadLabel, match="unsure_as"):
        Costs.zero_one(["unsure", "sure"], unsure=0.1)
    assert Costs.zero_one(["unsure", "sure"], unsure=0.1, unsure_as="?").decisions == ("unsure", "sure", "?")
    with pytest.raises(BadLabel, match="must differ"):
        Costs.false_positive(9, positive=1, negative=True)


def test_a_label_without_costs_is_refused_by_name_even_if_impossible():
    with pytest.raises(BadLabel, match=r"no label 'eggs'; there are \['spam', 'ham'\]"):
        Costs.false_positive(9).decide({"spam": 0.5, "ham": 0.5, "eggs": 0.0})


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.1, 1.1, None, "0.5"])
def test_what_is_no_probability_is_refused_by_its_label(bad):
    for decide in (
        Costs.zero_one(["a", "b"]).decide,
        Costs.zero_one(["a", "b"]).risk,
        Thresholds(0.5).decide,
    ):
        with pytest.raises(BadValue, match="probability of 'b'"):
            decide({"a": 0.5, "b": bad})


def test_a_rounding_above_one_is_still_a_probability():
    assert Costs.zero_one(["a", "b"]).decide({"a": 1.0000000000000002}) == "a"


# --- thresholds -----------------------------------------------------------------------------------


@given(probabilities(["a", "b", "c"]), st.dictionaries(st.sampled_from("abc"), st.floats(0, 1)))
def test_thresholds_answer_the_most_probable_label_if_it_reaches_its_own(p, least):
    decision = Thresholds(least, otherwise="none").decide(p)
    best = max(p, key=p.__getitem__)
    assert decision == (best if p[best] >= least.get(best, 0.0) else "none")


@given(probabilities(["a", "b", "c"]), st.floats(0, 1))
def test_one_threshold_holds_for_every_label(p, least):
    assert Thresholds(least).decide(p) == Thresholds(dict.fromkeys("abc", least)).decide(p)


def test_at_its_threshold_a_label_is_answered():
    assert Thresholds({"a": 0.7}).decide({"a": 0.7, "b": 0.3}) == "a"
    assert Thresholds({"a": 0.7}).decide({"a": math.nextafter(0.7, 0), "b": 0.3}) == "unsure"


def test_otherwise_may_be_a_label():
    assert Thresholds({"spam": 0.9}, otherwise="ham").decide({"spam": 0.8, "ham": 0.2}) == "ham"


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, None, "0.5"])
def test_a_threshold_that_is_no_probability_is_refused(bad):
    with pytest.raises(BadValue, match="threshold of 'a'"):
        Thresholds({"a": bad})
    with pytest.raises(BadValue, match="threshold of all labels"):
        Thresholds(bad)


# --- values ---------------------------------------------------------------------------------------

RULES = [
    Costs({"ü": {None: 1, ("t", 2): 0.5}, 3: {None: 0, ("t", 2): 2}}),
    Costs.zero_one(["a", "b", "c"], unsure=0.2),
    Costs.false_positive(9, unsure=0.5, unsure_as=None),
    Thresholds({"b": 0.9, "a": 0.5, 3: 0.1}, otherwise="ask"),
    Thresholds(0.75),
]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_survives_copies_pickles_and_its_repr_as_an_equal(rule):
    for same in (copy.copy(rule), copy.deepcopy(rule), pickle.loads(pickle.dumps(rule)), eval(repr(rule))):
        assert same == rule
        assert hash(same) == hash(rule)


@pytest.mark.parametrize("i", range(len(RULES)))
def test_different_rules_are_unequal(i):
    assert [RULES[i] == rule for rule in RULES] == [i == j for j in range(len(RULES))]


def test_the_order_of_decisions_is_part_of_costs_and_that_of_thresholds_is_not():
    assert Costs.zero_one(["a", "b"]) != Costs.zero_one(["b", "a"])  # they break ties differently
    assert Thresholds({"a": 0.1, "b": 0.2}) == Thresholds({"b": 0.2, "a": 0.1})


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_immutable(rule):
    for name in vars(rule):
        with pytest.raises(FrozenInstanceError):
            setattr(rule, name, 1)


def test_costs_keep_nothing_of_the_matrix_they_came_from():
    matrix = {"a": {"x": 0.0, "y": 1.0}, "b": {"x": 1.0, "y": 0.0}}
    costs = Costs(matrix)
    matrix["a"]["x"] = 100.0
    assert costs.decide({"x": 1.0}) == "a"


@pytest.mark.parametrize("rule", [Thresholds({"spm": 0.99}), Thresholds({"ham": 0.5, "Spam": 0.99})])
def test_a_threshold_for_a_misspelt_label_is_named(rule: Thresholds) -> None:
    with pytest.warns(NeverMet, match=r"applies to none of the labels .*; did you mean 'spam'\?"):
        rule.decide({"spam": 0.6, "ham": 0.4})


@pytest.mark.filterwarnings("error::stream_bayes.errors.NeverMet")
def test_a_threshold_for_a_label_that_has_not_come_yet_warns_of_nothing() -> None:
    assert Thresholds({"fraud": 0.9}).decide({"spam": 0.6, "ham": 0.4}) == "spam"
    assert (
        Thresholds({"class 1": 0.9, "class 10": 0.9}).decide({"class 1": 0.95, "class 2": 0.05}) == "class 1"
    )

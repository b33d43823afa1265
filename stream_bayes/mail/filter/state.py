r"""A spam filter's state as JSON and arrays, and back, with everything checked.

    {"format": 1, "learner": "SpamFilter", "parameters": {...},
     "store": {"tokens": "lunch\nnotes", "messages": [1024, 2048], "prior": [0, 0], "clock": 3, "lengths": 7,
               "margin": 3.0,
               "rehearsal": {...}, "receipts": ["9f86d0...", ...], "key": null,      a digest of the key only
               "learner": null,                                  or a learner's state, its arrays as "learner_NAME"
               "days": [[19723, 0]],                             each day, and the messages learned before it
               "kinds": []},             with more than two classes, tokens to reading of each other contest
     "reading": {"slope": 1.0, "intercept": 0.0, "seen": 3},         the calibration
     "arrays": {"counts": (tokens, 2), "margins": (tokens,), "seen": (tokens,),
                "receipt_codes": (all codes,), "receipt_sizes", "receipt_tokens", "receipt_labels",
                "receipt_units", "receipt_steps", "receipt_learned", "receipt_probabilities",
                "receipt_doubts", "receipt_opinions", "receipt_turns": (receipts,),
                "gram_places", "gram_steps", "gram_squares": (4-grams that have a step,),    of a second opinion
                "receipt_grams": (all 4-grams,), "receipt_gram_sizes": (receipts,),      of a second opinion
                "receipt_bags": (all bytes,), "receipt_bag_sizes", "receipt_clocks": (receipts,),   for a learner
                "calibration_scores", "calibration_labels": (scores,),
                "correspondents": (hashes,),
                "kind1_counts": ...},                            the same of each other contest
     "checksum": 1733}

The kernel runs unchecked, so every code is compared with the vocabulary here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.values import JSONValue, packed, unpacked
from stream_bayes.errors import BadState, BadValue, StreamBayesError
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.state import (
    FORMAT,
    checksum,
    loaded_parameter,
    saved_parameter,
    text_of,
    verified,
)
from stream_bayes.learners.catalogue import class_named
from stream_bayes.learners.wrappers.decision_rules import Costs
from stream_bayes.mail.filter._evidence import UNIT
from stream_bayes.mail.filter.ages import TokenAges
from stream_bayes.mail.filter.learner_scorer import LearnerScorer
from stream_bayes.mail.filter.messages import checked_bag
from stream_bayes.mail.filter.one_against_rest import Contest
from stream_bayes.mail.filter.receipts import Receipt
from stream_bayes.mail.filter.scorer import Scorer
from stream_bayes.mail.filter.second_opinion import CharacterOpinion, NoOpinion
from stream_bayes.mail.filter.token_scorer import TokenScorer
from stream_bayes.mail.text.correspondents import Correspondents
from stream_bayes.mail.text.limits import Limits

__all__ = ["load_state", "save_settings", "save_state"]

Model = TypeVar("Model")

LEARNER = "learner_"  # before the names of a learner's arrays
KIND = "kind"  # before the number of a contest but the first, and the names of its arrays
_PLAIN = (
    *("train", "max_tokens", "influence", "max_receipts", "pairs", "parser", "authserv_id", "keep"),
    "second_opinion",
)
_MAX = 2**60  # of any whole number: sums of two still fit


# -- saving -----------------------------------------------------------------------------------------------------------


def save_state(
    arguments: Mapping[str, Any], contests: Sequence[Contest], correspondents: Correspondents, ages: TokenAges
) -> dict[str, Any]:
    """Return the state of a filter with these arguments and parts."""
    key = arguments["key"]
    first, *kinds = map(_saved_contest, contests)
    arrays = {**first.arrays, "correspondents": correspondents.array()}
    for number, kind in enumerate(kinds, 1):
        arrays |= {f"{KIND}{number}_{name}": array for name, array in kind.arrays.items()}
    state: dict[str, Any] = {
        "format": FORMAT,
        "learner": "SpamFilter",
        "parameters": _saved_arguments(arguments),
        "store": {
            **first.store,
            "key": None if key is None else _digest(key),
            "days": ages.state(),
            "kinds": [{"store": kind.store, "reading": kind.reading} for kind in kinds],
        },
        "reading": first.reading,
        "arrays": arrays,
    }
    state["checksum"] = checksum(text_of(state), state["arrays"])
    return state


class _SavedContest(NamedTuple):
    """A contest as JSON and arrays."""

    store: dict[str, Any]
    reading: dict[str, Any]
    arrays: dict[str, Any]


def _saved_contest(contest: Contest) -> _SavedContest:
    scorer = contest.scorer
    scorer.close_gaps(contest.receipts)
    ids, receipts = contest.receipts.state()
    tokens, tables, learner = _saved_scorer(scorer)
    store: dict[str, Any] = {
        "tokens": tokens,
        "messages": [round(UNIT * number) for number in scorer.messages],
        "prior": list(scorer.prior) if isinstance(scorer, TokenScorer) else [0, 0],
        "clock": scorer.weights.clock,
        "lengths": scorer.weights.lengths,
        "margin": contest.training.margin,
        "rehearsal": contest.rehearsal.state(),
        "receipts": packed(list(ids)),
        "learner": learner,
    }
    arrays = {**tables, **receipts, **contest.calibration.arrays()}
    return _SavedContest(store, contest.calibration.meta(), arrays)


def save_settings(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a filter's arguments without its key as JSON. Filters with equal ones can load each other's states."""
    learner = arguments["learner"]
    if learner is None:
        return _saved_arguments(arguments) | {"learner": None}
    parameters = {name: saved_parameter(value) for name, value in learner._get_params().items()}
    return _saved_arguments(arguments) | {
        "learner": {"kind": type(learner).__name__, "arguments": parameters}
    }


def _saved_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    limits = arguments["limits"]
    saved: dict[str, Any] = {name: arguments[name] for name in _PLAIN}
    saved["classes"] = saved_parameter(list(arguments["classes"]))
    saved["costs"] = _saved_costs(arguments["costs"])
    saved["salt"] = None if arguments["salt"] is None else arguments["salt"].hex()
    saved["limits"] = None if limits is None else asdict(limits)
    return saved


def _saved_scorer(scorer: Scorer) -> tuple[JSONValue, dict[str, Any], dict[str, Any] | None]:
    """Return the tokens, the tables, and the state of a learner."""
    if isinstance(scorer, LearnerScorer):
        state = scorer.learner.state()
        arrays = {f"{LEARNER}{name}": array for name, array in state.pop("arrays").items()}
        return packed([]), _tables(0, None) | arrays, state
    assert isinstance(scorer, TokenScorer)
    size = len(scorer.table)
    return packed(list(scorer.table.vocabulary.values)), _tables(size, scorer), None


def _tables(size: int, scorer: TokenScorer | None) -> dict[str, Any]:
    if scorer is None:
        none = np.zeros(0, np.int64)
        return {"counts": none.reshape(0, 2), "margins": none, "seen": none, **_grams(None)}
    return {
        "counts": scorer.counts().copy(),
        "margins": np.asarray(scorer.table.margin)[:size].copy(),
        "seen": np.asarray(scorer.table.seen)[:size].copy(),
        **_grams(scorer),
    }


def _grams(scorer: TokenScorer | None) -> dict[str, Any]:
    """Return the slots of 4-grams that have a step, and the sums of theirs and of their squares."""
    steps, squares = (NoOpinion() if scorer is None else scorer.opinion).sums
    slots = np.flatnonzero(steps | squares)
    return {"gram_places": slots, "gram_steps": steps[slots], "gram_squares": squares[slots]}


# -- loading ----------------------------------------------------------------------------------------------------------


def load_state(
    make: Callable[..., Model],
    parts_of: Callable[[Model], tuple[Sequence[Contest], Correspondents, TokenAges]],
    state: Mapping[str, Any],
    key: bytes | None,
) -> Model:
    """Return the filter of a state. `make` makes a filter from its arguments, and `parts_of` returns its contests,
    correspondents and ages, which are then filled. `state` is as `save_state` returns it. `key` is that of its
    tokens, if they are hashed.

    Raises
    ------
    BadState
        If anything is wrong with the state.
    """
    state = verified(state, "SpamFilter")
    store, arrays = state["store"], state["arrays"]
    with refusing_bad_state():
        if store["key"] != (None if key is None else _digest(key)):
            raise BadState(
                "the state's tokens are hashed with another key"
                if key is not None
                else "the state's tokens are hashed: give from_state the key, or the command --key-env"
            )
        saved = dict(state["parameters"])
        limits, costs, salt = saved.pop("limits"), saved.pop("costs"), saved.pop("salt")
        classes = loaded_parameter(saved.pop("classes"))
        expect(set(saved) == set(_PLAIN), f"its parameters are {sorted(state['parameters'])}")
        try:
            model = make(
                classes=tuple(classes),
                costs=_loaded_costs(costs),
                limits=None if limits is None else Limits(**limits),
                key=key,
                salt=None if salt is None else bytes.fromhex(salt),
                learner=_loaded_learner(store["learner"], arrays),
                **saved,
            )
        except (StreamBayesError, TypeError) as error:
            raise BadState(f"the state's parameters do not make a SpamFilter: {error}") from error
        (first, *kinds), correspondents, ages = parts_of(model)
        ages.load(store["days"])
        correspondents.load(arrays["correspondents"])
        _load_contest(first, store, state["reading"], arrays)
        expect(len(store["kinds"]) == len(kinds), f"it has not as many contests as {len(classes)} classes")
        for number, (contest, kind) in enumerate(zip(kinds, store["kinds"], strict=True), 1):
            prefix = f"{KIND}{number}_"
            of_contest = {
                name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)
            }
            _load_contest(contest, kind["store"], kind["reading"], of_contest)
            same = contest.receipts.by_id.keys() == first.receipts.by_id.keys()
            expect(same, "its contests have receipts of different messages")
        for name, receipt in first.receipts.by_id.items() if kinds else []:
            sides = [contest.receipts.by_id[name].label for contest in kinds]
            expect(sum(sides) == receipt.label, "a message of its receipts has not one class")
    return model


def _load_contest(
    contest: Contest, store: Mapping[str, Any], reading: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    _load_scorer(contest.scorer, store, arrays)
    _load_receipts(contest, store, arrays)
    contest.calibration.load(reading, arrays)
    margin = store["margin"]
    expect(type(margin) is float and 0.0 < margin < 1e3, "its margin is out of range")
    contest.training.margin = margin
    contest.rehearsal.load(store["rehearsal"])


def _load_scorer(scorer: Scorer, store: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    tokens = unpacked(store["tokens"])
    expect(all(type(token) is str for token in tokens), "a token is not a text")
    size = len(tokens)
    counts = _whole("counts", arrays, (size, 2), least=0)
    margins = _whole("margins", arrays, (size,), least=-_MAX)
    seen = _whole("seen", arrays, (size,), least=0)
    messages, clock = store["messages"], store["clock"]
    expect(
        len(messages) == 2 and all(type(number) is int and 0 <= number < _MAX for number in messages),
        "its numbers of messages are out of range",
    )
    expect(type(clock) is int and 0 <= clock < _MAX, "its clock is out of range")
    expect(size == 0 or bool((seen <= clock).all()), "a token was seen in the future")
    expect(bool((counts <= np.array(messages)).all()), "a token is in more messages than there are")
    if isinstance(scorer, LearnerScorer):
        expect(size == 0, "it has tokens beside its learner's")
        _load_grams(None, arrays)
        scorer.units_learned = list(messages)
    else:
        assert isinstance(scorer, TokenScorer)
        prior = store["prior"]
        is_within = len(prior) == 2 and all(
            type(of_label) is int and 0 <= of_label <= most
            for of_label, most in zip(prior, messages, strict=True)
        )
        expect(is_within, "its prior stands for more messages than there are")
        scorer.prior = list(prior)
        _load_grams(scorer, arrays)
        texts = [str(token) for token in tokens]
        expect(scorer.fill(texts, counts, margins, seen), "it names a token twice")
        scorer.table.first, scorer.table.second = messages
    lengths, weights = store["lengths"], scorer.weights
    expect(
        type(lengths) is int and 0 <= lengths <= clock * weights.influence,
        "the sum of its messages' lengths is out of range",
    )
    weights.clock, weights.lengths = clock, lengths


def _load_grams(scorer: TokenScorer | None, arrays: Mapping[str, Any]) -> None:
    shape = arrays["gram_places"].shape
    slots = _whole("gram_places", arrays, shape, least=0)
    steps = _whole("gram_steps", arrays, shape, least=-_MAX)
    squares = _whole("gram_squares", arrays, shape, least=0)
    sums = (NoOpinion() if scorer is None else scorer.opinion).sums
    if not len(sums[0]):
        expect(not len(slots), "it has 4-grams without a second opinion of its own")
        return
    expect(slots.ndim == 1 and bool((slots < len(sums[0])).all()), "a place of its 4-grams is out of range")
    expect(
        bool((np.diff(slots) > 0).all() and (steps | squares).all()),
        "its 4-grams are out of order, or empty",
    )
    sums[0][slots], sums[1][slots] = steps, squares


def _shares(name: str, arrays: Mapping[str, Any], entries: int) -> NDArray[np.float64]:
    """Return an array of receipts with numbers from 0 to 1, checked."""
    array: NDArray[np.float64] = arrays[f"receipt_{name}"]
    expect(
        isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == (entries,),
        f"the {name} of its receipts do not fit",
    )
    expect(
        bool(((array >= 0.0) & (array <= 1.0)).all()), f"one of the {name} of its receipts is out of range"
    )
    return array


def _load_receipts(contest: Contest, store: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    ids = unpacked(store["receipts"])
    entries = len(ids)
    expect(
        len(set(ids)) == entries <= contest.receipts.limit, "it has two receipts of one message, or too many"
    )
    sizes = _whole("receipt_sizes", arrays, (entries,), least=0)
    codes = arrays["receipt_codes"]
    expect(
        isinstance(codes, np.ndarray) and codes.dtype == np.int32, "the codes of its receipts are no codes"
    )
    expect(codes.shape == (int(sizes.sum()),), "the codes of its receipts do not fit")
    size = len(contest.scorer.table) if isinstance(contest.scorer, TokenScorer) else 0
    expect(bool(((codes >= -1) & (codes < size)).all()), "its receipts hold unknown codes")
    tokens = _whole("receipt_tokens", arrays, (entries,), least=0)
    labels = _whole("receipt_labels", arrays, (entries,), least=0)
    expect(bool((labels <= 1).all()), "a label of its receipts is neither 0 nor 1")
    units = _whole("receipt_units", arrays, (entries,), least=0)
    steps = _whole("receipt_steps", arrays, (entries,), least=-_MAX)
    learned = _whole("receipt_learned", arrays, (entries,), least=0)
    expect(bool((learned <= 1).all()), "a mark of its receipts, learned or not, is neither 0 nor 1")
    chances = _shares("probabilities", arrays, entries)
    doubts = _shares("doubts", arrays, entries)
    opinions = _shares("opinions", arrays, entries)
    turns = _whole("receipt_turns", arrays, (entries,), least=-_MAX)
    clocks = _whole("receipt_clocks", arrays, (entries,), least=0)
    bags = _loaded_bags(arrays, entries, of_learner=isinstance(contest.scorer, LearnerScorer))
    grams = _loaded_grams(arrays, entries, has_opinion=_has_opinion(contest.scorer))
    parts_of_codes = np.split(codes, np.cumsum(sizes)[:-1]) if entries else []
    for row, (key, codes_of_one) in enumerate(zip(ids, parts_of_codes, strict=True)):
        expect(type(key) is str, "an id of its receipts is not a text")
        receipt = Receipt(
            codes_of_one.copy(),
            int(tokens[row]),
            int(labels[row]),
            int(units[row]),
            int(steps[row]),
            bool(learned[row]),
            float(chances[row]),
            float(doubts[row]),
            bags[row],
            int(clocks[row]),
            float(opinions[row]),
            int(turns[row]),
            grams[row],
        )
        contest.receipts.put(str(key), receipt)


def _has_opinion(scorer: Scorer) -> bool:
    return isinstance(scorer, TokenScorer) and isinstance(scorer.opinion, CharacterOpinion)


def _loaded_grams(arrays: Mapping[str, Any], entries: int, *, has_opinion: bool) -> list[NDArray[np.uint16]]:
    """Return the slots of 4-grams of receipts, checked; none without a second opinion."""
    sizes = _whole("receipt_gram_sizes", arrays, (entries,), least=0)
    slots = arrays["receipt_grams"]
    is_sound = isinstance(slots, np.ndarray) and slots.dtype == np.uint16
    expect(is_sound and slots.shape == (int(sizes.sum()),), "the 4-grams of its receipts do not fit")
    expect(has_opinion or not len(slots), "its receipts hold 4-grams without a second opinion")
    return [part.copy() for part in np.split(slots, np.cumsum(sizes)[:-1])] if entries else []


def _loaded_bags(arrays: Mapping[str, Any], entries: int, *, of_learner: bool) -> list[bytes]:
    """Return the bags of receipts, checked; without a learner all must be empty."""
    sizes = _whole("receipt_bag_sizes", arrays, (entries,), least=0)
    data = arrays["receipt_bags"]
    expect(isinstance(data, np.ndarray) and data.dtype == np.uint8, "the bags of its receipts are no bytes")
    expect(data.shape == (int(sizes.sum()),), "the bags of its receipts do not fit")
    ends = np.cumsum(sizes)
    bags = [data[end - size : end].tobytes() for end, size in zip(ends, sizes, strict=True)]
    for bag in bags:
        if of_learner:
            try:
                checked_bag(json.loads(bag))
            except (ValueError, RecursionError) as error:
                raise BadState(f"the state is broken: a bag of its receipts is invalid: {error}") from error
        else:
            expect(not bag, "its receipts hold bags for no learner")
    return bags


def _loaded_learner(saved: Any, arrays: Mapping[str, Any]) -> BayesClassifier | None:
    """Return the learner of a saved state; only classifiers of this package, by name."""
    if saved is None:
        return None
    made = class_named(saved["learner"])
    expect(made is not None and issubclass(made, BayesClassifier), "its learner is none of this package")
    assert made is not None
    of_learner = {
        name.removeprefix(LEARNER): array for name, array in arrays.items() if name.startswith(LEARNER)
    }
    return made.from_state({**saved, "arrays": of_learner})


def _whole(name: str, arrays: Mapping[str, Any], shape: tuple[int, ...], least: int) -> NDArray[np.int64]:
    array = arrays[name]
    expect(isinstance(array, np.ndarray) and array.dtype == np.int64, f"{name} holds no whole numbers")
    expect(array.shape == shape, f"{name} has shape {array.shape}, expected {shape}")
    expect(bool(((array >= least) & (array < _MAX)).all()), f"{name} holds numbers out of range")
    return array


def _digest(key: bytes) -> str:
    return hashlib.blake2b(b"stream_bayes", key=key, digest_size=16).hexdigest()


def _saved_costs(costs: Any) -> Any:
    if costs is None:
        return None
    if not isinstance(costs, Costs):
        raise BadValue(f"a filter with the rule {costs!r} cannot be saved: give it Costs, or None")
    return {
        "decisions": saved_parameter(list(costs.decisions)),
        "labels": saved_parameter(list(costs.labels)),
        "rows": [list(row) for row in costs.rows],
    }


def _loaded_costs(saved: Any) -> Costs | None:
    if saved is None:
        return None
    labels = loaded_parameter(saved["labels"])
    rows = zip(loaded_parameter(saved["decisions"]), saved["rows"], strict=True)
    return Costs({decision: dict(zip(labels, row, strict=True)) for decision, row in rows})

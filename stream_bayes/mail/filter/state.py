r"""A spam filter's state as JSON and arrays, and back, with everything checked.

    {"format": 1, "learner": "SpamFilter", "parameters": {...},
     "store": {"tokens": "lunch\nnotes", "messages": [1024, 2048], "clock": 3, "lengths": 7, "margin": 3.0,
               "journal": ["9f86d0...", ...], "key": null,       of the key a digest only
               "learner": null},                                 or a learner's state, its arrays as "learner_NAME"
     "reading": {"slope": 1.0, "place": 0.0, "seen": 3},         the calibration
     "arrays": {"counts": (tokens, 2), "margins": (tokens,), "seen": (tokens,),
                "journal_codes": (all codes,), "journal_sizes", "journal_tokens", "journal_labels",
                "journal_units", "journal_steps", "journal_learned", "journal_probabilities": (entries,),
                "journal_bags": (all bytes,), "journal_bag_sizes", "journal_clocks": (entries,),   for a learner
                "calibration_scores", "calibration_labels": (scores,)},
     "checksum": 1733}

The kernel runs unchecked, so every code is compared with the vocabulary here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.values import JSONValue, packed, unpacked
from stream_bayes.errors import BadState, BadValue, StreamBayesError
from stream_bayes.learners.catalogue import LEARNERS
from stream_bayes.learners.classifier.base import BayesClassifier
from stream_bayes.learners.classifier.state import (
    FORMAT,
    checksum,
    loaded_parameter,
    saved_parameter,
    text_of,
    verified,
)
from stream_bayes.learners.costs import Costs
from stream_bayes.mail.filter._evidence import UNIT
from stream_bayes.mail.filter.calibration import Calibration
from stream_bayes.mail.filter.evidence import TokenEvidence
from stream_bayes.mail.filter.learner_evidence import LearnerEvidence
from stream_bayes.mail.filter.receipts import Evidence, Journal, Receipt, checked_bag
from stream_bayes.mail.text.limits import Limits

__all__ = ["load_state", "saved_parameters", "saved_state"]


class FilterContent(Protocol):
    """What a state holds of a filter."""

    key: bytes | None
    labels: Any
    costs: Any
    limits: Limits | None
    learner: BayesClassifier | None
    influence: int
    journal: int
    _evidence: Evidence
    _calibration: Calibration
    _journal: Journal
    _margin: float

    def __init__(self, **arguments: Any) -> None: ...


Filter = TypeVar("Filter", bound=FilterContent)

LEARNER = "learner_"  # before the names of a learner's arrays
_PLAIN = ("train", "max_tokens", "influence", "journal", "pairs", "parser")
_MOST = 2**60  # of any whole number: sums of two still fit


def saved_state(model: FilterContent) -> dict[str, Any]:
    """The state of a filter."""
    evidence = model._evidence
    ids, journal = model._journal.state()
    tokens, tables, learner = _saved_evidence(evidence)
    state: dict[str, Any] = {
        "format": FORMAT,
        "learner": "SpamFilter",
        "parameters": _written_parameters(model),
        "store": {
            "tokens": tokens,
            "messages": [round(UNIT * number) for number in evidence.messages],
            "clock": evidence.clock,
            "lengths": evidence.lengths,
            "margin": model._margin,
            "journal": packed(list(ids)),
            "key": None if model.key is None else _digest(model.key),
            "learner": learner,
        },
        "reading": model._calibration.meta(),
        "arrays": {
            **tables,
            **journal,
            **model._calibration.arrays(),
        },
    }
    state["checksum"] = checksum(text_of(state), state["arrays"])
    return state


def _written_parameters(model: FilterContent) -> dict[str, Any]:
    parameters: dict[str, Any] = {name: getattr(model, name) for name in _PLAIN}
    parameters["labels"] = saved_parameter(list(model.labels))
    parameters["costs"] = _saved_costs(model.costs)
    parameters["limits"] = None if model.limits is None else asdict(model.limits)
    return parameters


def saved_parameters(model: FilterContent) -> dict[str, Any]:
    """A filter's arguments as JSON, but for its key; two filters of the same can go on from one another's states."""
    learner = model.learner
    if learner is None:
        return _written_parameters(model) | {"learner": None}
    own = {name: saved_parameter(value) for name, value in learner._get_params().items()}
    return _written_parameters(model) | {"learner": {"kind": type(learner).__name__, "arguments": own}}


def _saved_evidence(evidence: Evidence) -> tuple[JSONValue, dict[str, Any], dict[str, Any] | None]:
    """The tokens, the tables, and the state of a learner in their place."""
    if isinstance(evidence, LearnerEvidence):
        state = evidence.learner.state()
        arrays = {f"{LEARNER}{name}": array for name, array in state.pop("arrays").items()}
        return packed([]), _tables(0, None) | arrays, state
    assert isinstance(evidence, TokenEvidence)
    size = len(evidence.table)
    return packed(list(evidence.table.vocabulary.values)), _tables(size, evidence), None


def _tables(size: int, evidence: TokenEvidence | None) -> dict[str, Any]:
    if evidence is None:
        none = np.zeros(0, np.int64)
        return {"counts": none.reshape(0, 2), "margins": none, "seen": none}
    return {
        "counts": evidence.counts().copy(),
        "margins": np.asarray(evidence.table.margin)[:size].copy(),
        "seen": np.asarray(evidence.table.seen)[:size].copy(),
    }


def load_state(kind: type[Filter], state: Mapping[str, Any], key: bytes | None) -> Filter:
    """The filter of a state."""
    state = verified(state, "SpamFilter")
    store, arrays = state["store"], state["arrays"]
    with refusing_bad_state():
        if store["key"] != (None if key is None else _digest(key)):
            raise BadState(
                "the state's tokens are hashed with another key"
                if key is not None
                else "the state's tokens are hashed: give from_state the key"
            )
        saved = dict(state["parameters"])
        limits, costs = saved.pop("limits"), saved.pop("costs")
        labels = loaded_parameter(saved.pop("labels"))
        expect(set(saved) == set(_PLAIN), f"its parameters are {sorted(state['parameters'])}")
        try:
            model = kind(
                labels=tuple(labels),
                costs=_loaded_costs(costs),
                limits=None if limits is None else Limits(**limits),
                key=key,
                learner=_loaded_learner(store["learner"], arrays),
                **saved,
            )
        except (StreamBayesError, TypeError) as error:
            raise BadState(f"the state's parameters do not make a SpamFilter: {error}") from error
        _load_evidence(model, store, arrays)
        _load_journal(model, store, arrays)
        model._calibration.load(state["reading"], arrays)
        margin = store["margin"]
        expect(type(margin) is float and 0.0 < margin < 1e3, "its margin is none")
        model._margin = margin
    return model


def _load_evidence(model: FilterContent, store: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    tokens = unpacked(store["tokens"])
    expect(all(type(token) is str for token in tokens), "a token is no text")
    size = len(tokens)
    counts = _whole("counts", arrays, (size, 2), least=0)
    margins = _whole("margins", arrays, (size,), least=-_MOST)
    seen = _whole("seen", arrays, (size,), least=0)
    evidence = model._evidence
    messages, clock = store["messages"], store["clock"]
    expect(
        len(messages) == 2 and all(type(number) is int and 0 <= number < _MOST for number in messages),
        "its numbers of messages are none",
    )
    expect(type(clock) is int and 0 <= clock < _MOST, "its clock is none")
    expect(size == 0 or bool((seen <= clock).all()), "a token was seen in the future")
    expect(bool((counts <= np.array(messages)).all()), "a token is in more messages than there are")
    if isinstance(evidence, LearnerEvidence):
        expect(size == 0, "it has tokens beside its learner's")
        evidence.units_learned = list(messages)
    else:
        assert isinstance(evidence, TokenEvidence)
        texts = [str(token) for token in tokens]
        expect(evidence.fill(texts, counts, margins, seen), "it names a token twice")
        evidence.table.first, evidence.table.second = messages
    lengths = store["lengths"]
    expect(type(lengths) is int and 0 <= lengths <= clock * model.influence, "its messages have no length")
    evidence.clock, evidence.lengths = clock, lengths


def _load_journal(model: FilterContent, store: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    ids = unpacked(store["journal"])
    entries = len(ids)
    expect(len(set(ids)) == entries <= model.journal, "its journal names a message twice, or too many")
    sizes = _whole("journal_sizes", arrays, (entries,), least=0)
    codes = arrays["journal_codes"]
    expect(isinstance(codes, np.ndarray) and codes.dtype == np.int32, "the codes of its journal are none")
    expect(codes.shape == (int(sizes.sum()),), "the codes of its journal do not fit")
    expect(bool(((codes >= -1) & (codes < _size(model._evidence))).all()), "its journal holds unknown codes")
    tokens = _whole("journal_tokens", arrays, (entries,), least=0)
    labels = _whole("journal_labels", arrays, (entries,), least=0)
    expect(bool((labels <= 1).all()), "a label of its journal is neither 0 nor 1")
    units = _whole("journal_units", arrays, (entries,), least=0)
    steps = _whole("journal_steps", arrays, (entries,), least=-_MOST)
    learned = _whole("journal_learned", arrays, (entries,), least=0)
    expect(bool((learned <= 1).all()), "its journal does not say what was learned")
    chances = arrays["journal_probabilities"]
    expect(
        isinstance(chances, np.ndarray) and chances.dtype == np.float64 and chances.shape == (entries,),
        "the probabilities of its journal do not fit",
    )
    expect(bool(((chances >= 0.0) & (chances <= 1.0)).all()), "a probability of its journal is none")
    clocks = _whole("journal_clocks", arrays, (entries,), least=0)
    bags = _bags(arrays, entries, of_learner=isinstance(model._evidence, LearnerEvidence))
    parts = np.split(codes, np.cumsum(sizes)[:-1]) if entries else []
    for place, (key, part) in enumerate(zip(ids, parts, strict=True)):
        expect(type(key) is str, "an id of its journal is no text")
        model._journal.receipts[str(key)] = Receipt(
            part.copy(),
            int(tokens[place]),
            int(labels[place]),
            int(units[place]),
            int(steps[place]),
            bool(learned[place]),
            float(chances[place]),
            bags[place],
            int(clocks[place]),
        )


def _size(evidence: Evidence) -> int:
    return len(evidence.table) if isinstance(evidence, TokenEvidence) else 0


def _bags(arrays: Mapping[str, Any], entries: int, *, of_learner: bool) -> list[bytes]:
    """The bags that a learner was given, each checked; without a learner all are empty."""
    sizes = _whole("journal_bag_sizes", arrays, (entries,), least=0)
    data = arrays["journal_bags"]
    expect(isinstance(data, np.ndarray) and data.dtype == np.uint8, "the bags of its journal are none")
    expect(data.shape == (int(sizes.sum()),), "the bags of its journal do not fit")
    ends = np.cumsum(sizes)
    bags = [data[end - size : end].tobytes() for end, size in zip(ends, sizes, strict=True)]
    for bag in bags:
        if of_learner:
            try:
                checked_bag(json.loads(bag))
            except (ValueError, RecursionError) as error:
                raise BadState(f"the state is broken: a bag of its journal is none: {error}") from error
        else:
            expect(not bag, "its journal holds bags for no learner")
    return bags


def _loaded_learner(saved: Any, arrays: Mapping[str, Any]) -> BayesClassifier | None:
    """The learner whose state it holds: one of this package, by its name."""
    if saved is None:
        return None
    kinds = {made.__name__: made for made in LEARNERS.values()}
    expect(saved["learner"] in kinds, "its learner is none of this package")
    own = {name.removeprefix(LEARNER): array for name, array in arrays.items() if name.startswith(LEARNER)}
    return kinds[saved["learner"]].from_state({**saved, "arrays": own})


def _whole(name: str, arrays: Mapping[str, Any], shape: tuple[int, ...], least: int) -> NDArray[np.int64]:
    array = arrays[name]
    expect(isinstance(array, np.ndarray) and array.dtype == np.int64, f"{name} holds no whole numbers")
    expect(array.shape == shape, f"{name} has shape {array.shape}, expected {shape}")
    expect(bool(((array >= least) & (array < _MOST)).all()), f"{name} holds numbers out of range")
    found: NDArray[np.int64] = array
    return found


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

"""The newest events that a model has learned, as codes, with the signal of each: candidates learn from them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts.window import Window
from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.values.values import Value
from stream_bayes.drift.family_detectors import Coded
from stream_bayes.errors import BadState, NotLearned, NotSupported
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.bayes_net_classifier import BayesNetClassifier
from stream_bayes.networks.dynamic_network import DynamicNetwork
from stream_bayes.networks.mixed_network import MixedNetwork

__all__ = [
    "JOINT_NETWORKS",
    "Events",
    "JointNetwork",
    "RecentEvents",
    "RenewedModel",
    "fresh_twin",
    "grows",
    "has_densities",
    "joint_network_of",
    "learn_events",
    "rederive",
]

MOST_FORGOTTEN = 500  # events, some microseconds each
JointNetwork: TypeAlias = BayesNet | MixedNetwork | DynamicNetwork  # a network without a class
JOINT_NETWORKS = (BayesNet, MixedNetwork, DynamicNetwork)
RenewedModel: TypeAlias = BayesClassifier | JointNetwork
Renewed = TypeVar("Renewed", bound=RenewedModel)
Events = Mapping[str, NDArray[Any]]  # the arrays of a window, read only


class RecentEvents:
    """The newest events by the codes of the model that learned them, and the signal that each gave. `size` of them are
    kept.
    """

    def __init__(self, model: RenewedModel, size: int) -> None:
        self._begin(model, size)

    def _begin(self, model: RenewedModel, size: int) -> None:
        self._model = model
        self._encoder: Any = model.store.encoder
        self._window = Window(self._encoder, size)
        self._signals: deque[float] = deque(maxlen=size)
        # Bound once: they are called for every event.
        self._push, self._append = self._window.ring.push, self._signals.append
        self._features = -1
        self._make_room()

    def _make_room(self) -> None:
        self._window.make_room()
        self._features = len(self._encoder.features)

    def __len__(self) -> int:
        return len(self._window)

    @property
    def newest(self) -> int:
        """The clock of the newest event; 0 without any."""
        return self._window.clock_of(len(self) - 1) if len(self) else 0

    @property
    def memory_bytes(self) -> int:
        """The bytes of the columns and signals."""
        return self._window.memory_bytes + 8 * self._window.size

    def push(self, row: Row, clock: int, signal: float) -> None:
        """Add an event that was just learned."""
        if len(self._encoder.features) != self._features:
            self._make_room()
        self._push(row, clock)
        self._append(signal)

    @property
    def last_signal(self) -> float:
        """The signal of the newest event; 1/2 without any."""
        return self._signals[-1] if self._signals else 0.5

    def signals(self, after: int = 0) -> NDArray[np.float64]:
        """Return the signal of each event after a clock, the oldest first."""
        first = bisect_right(range(len(self)), after, key=self._window.clock_of) if after else 0
        return np.array(self._signals)[first:]

    def newest_codes(self, number: int) -> Coded:
        """Return the newest events, numbers by the present bins."""
        ring, bins = self._window.ring, self._encoder.bins
        number = min(number, len(self))
        slots = (int(ring.next) - number + np.arange(number)) % self._window.size
        columns = np.asarray(ring.code_column)
        codes, coded = np.full((len(columns), number), -1, np.int64), columns >= 0
        codes[coded] = np.asarray(ring.codes)[columns[coded, None], slots]  # numbers alone have no codes
        if bins is not None:
            for slot, column in enumerate(np.asarray(ring.number_column).tolist()):
                if column >= 0 and slot in bins.cuts:
                    numbers = np.asarray(ring.numbers)[column, slots]
                    binned = np.searchsorted(np.array(bins.cuts[slot]), numbers, side="right")
                    codes[slot] = np.where(np.isnan(numbers), -1, binned)
        labels = np.asarray(ring.label)[slots].astype(np.int64)
        return Coded(codes, labels, np.asarray(ring.weight)[slots])

    def names_but(self, feature: Value, number: int) -> Iterator[NDArray[np.int64]]:
        """Yield the codes of each other feature with names in the newest events; -1 is missing."""
        codes = self.newest_codes(number).codes
        for other in self._encoder.features.values():
            if not (other.name == feature or other.numeric) and (codes[other.slot] >= 0).any():
                yield codes[other.slot]

    def newest_numbers(self, number: int) -> NDArray[np.float64]:
        """Return the numbers of the newest events, a row for each numeric feature without bins; NaN is missing."""
        ring = self._window.ring
        number = min(number, len(self))
        slots = (int(ring.next) - number + np.arange(number)) % self._window.size
        columns = np.asarray(ring.number_column)
        return np.asarray(ring.numbers)[columns][:, slots]

    def events(self, since: int = 0) -> list[tuple[int, Row]]:
        """Return the events from a clock on with their clocks, the oldest first."""
        window = self._window
        first = bisect_left(range(len(window)), since, key=window.clock_of)
        return [(window.clock_of(index), window.row(index, Row())) for index in range(first, len(window))]

    def newest_clocks(self, number: int) -> NDArray[np.int64]:
        """Return the clock of each of the newest events."""
        ring = self._window.ring
        number = min(number, len(self))
        slots = (int(ring.next) - number + np.arange(number)) % self._window.size
        return np.asarray(ring.clock)[slots].astype(np.int64)

    def since(self, clock: int) -> Events:
        """Return a copy of the events from a clock on."""
        arrays = self._window.arrays()
        first = int(np.searchsorted(arrays["window_clocks"], clock))
        return {name: np.ascontiguousarray(array[..., first:]) for name, array in arrays.items()}

    def catch_up(self, models: Sequence[RenewedModel], after: int, most: int) -> int:
        """Let models learn the first events after a clock, at most `most`; return the clock of the last.

        The models have all names of the events.
        """
        window, row = self._window, Row()
        first = bisect_right(range(len(window)), after, key=window.clock_of)
        for index in range(first, min(first + most, len(window))):
            for model in models:
                learn_rows(model, [_as_of(window, index, row, model)])
            after = window.clock_of(index)
        return after

    def model_before(self, since: int) -> RenewedModel:
        """Return the model without the recent events that it learned from a clock on.

        The model itself is returned if these cannot be unlearned, if they are so many that the stream would have to
        wait, or if it fades: then it has forgotten a share of the earlier events, too.
        """
        window, row = self._window, Row()
        model = self._model
        if isinstance(model, JOINT_NETWORKS) and has_densities(model):
            return self._without_newest(model, since)
        assert not isinstance(model, MixedNetwork)
        if not model.unlearns or model.half_life is not None or self.newest - since >= MOST_FORGOTTEN:
            return model
        twin = fresh_twin(model)
        try:
            for index in reversed(range(len(window))):
                if window.clock_of(index) < since:
                    break
                twin.store.forget(_as_of(window, index, row, twin))  # type: ignore[union-attr]  # it has names alone
        except NotLearned:  # of a KDB, say, that no longer keeps the events behind its tables
            return model
        rederive(twin)
        return twin

    def _without_newest(self, model: JointNetwork, since: int) -> JointNetwork:
        """Return a network of names and numbers without the events from a clock on; itself if these stay."""
        if self.newest - since >= MOST_FORGOTTEN:
            return model
        twin = fresh_twin(model)
        network = joint_network_of(twin)
        assert isinstance(network, MixedNetwork)
        try:
            for _, row in reversed(self.events(since)):
                network.unlearn_one(network.store.values_in(row), row.weight)
        except (NotLearned, NotSupported):
            return model
        return twin

    def move(self, model: RenewedModel, since: int) -> None:
        """Continue with another model, which has the same codes, and drop the events older than a clock."""
        self._model = model
        self._encoder = self._window.encoder = model.store.encoder
        while len(self) and self._window.clock_of(0) < since:
            self._window.drop_oldest()
            self._signals.popleft()
        self._make_room()

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self._model, "size": self._window.size, "arrays": self.arrays()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._begin(state["model"], state["size"])
        self.load(state["arrays"], state["arrays"]["signals"])

    # -- state --------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the events and signals as arrays."""
        return self._window.arrays() | {"signals": self.signals()}

    def load(self, events: Events, signals: Any) -> None:
        """Fill with events; raise `BadState` if they do not fit."""
        clocks = events["window_clocks"]
        self._window.load(padded(events, self._window), int(clocks[-1]) if len(clocks) else 0)
        values = np.asarray(signals, np.float64)
        if values.shape != (len(self),) or not ((values >= 0.0) & (values <= 1.0)).all():
            raise BadState(
                "the state does not fit: there is not a signal between 0 and 1 for each event kept"
            )
        self._signals.extend(values.tolist())
        self._make_room()


def learn_events(model: RenewedModel, events: Events) -> None:
    """Let a model that has the names of some events learn them in their order."""
    clocks = events["window_clocks"]
    if len(clocks):
        window = Window(model.store.encoder, len(clocks))
        window.load(padded(events, window), int(clocks[-1]))
        learn_rows(model, (row for row, _ in window.rows()))


def learn_rows(model: RenewedModel, rows: Iterable[Row]) -> None:
    """Learn rows in the codes of the model's store, which has their names.

    So a row needs more room only in tables of families, or if its weight is not whole.
    """
    learner = joint_network_of(model) if isinstance(model, JOINT_NETWORKS) else model
    if isinstance(learner, MixedNetwork):
        for row in rows:
            learner.learn_one(learner.store.values_in(row), row.weight)
        return
    store = learner.store
    learn = learner.learn_row if isinstance(learner, BayesNet) else learner.reading.learn
    bounded = store.memory_budget is not None
    for row in rows:
        if not row.whole or (bounded and store.tables.families is not None):
            store.make_room_for(1, row.whole)
        learn(row)


def joint_network_of(model: JointNetwork) -> BayesNet | MixedNetwork:
    """Return the network that learns events: of one in time, that over an event and its copies."""
    return model.joint_network if isinstance(model, DynamicNetwork) else model


def has_densities(model: RenewedModel) -> bool:
    """Return True for a network of names and numbers."""
    return isinstance(model, JOINT_NETWORKS) and isinstance(joint_network_of(model), MixedNetwork)


def fresh_twin(model: Renewed) -> Renewed:
    """Return a copy of a model, without what it remembers of sequences."""
    twin = cast(Renewed, model.twin())
    if isinstance(twin, DynamicNetwork):
        twin.reset()
    return twin


def rederive(model: RenewedModel) -> None:
    """Derive what a classifier derives from its counts; a network whose structure grows does so as it learns."""
    if isinstance(model, BayesClassifier) and not grows(model):
        model.rederive()


def grows(model: RenewedModel) -> bool:
    """Return True for a network that searches its structure itself."""
    return isinstance(model, (*JOINT_NETWORKS, BayesNetClassifier)) and model.is_growing


def _as_of(window: Window, index: int, row: Row, model: RenewedModel) -> Row:
    """Return an event with its numbers in a model's own bins."""
    window.row(index, row)
    bins: Any = model.store.encoder.bins
    if row.numbers and bins is not None:
        window.ring.load(index, row)
        bins.resolve(row)
    return row


def padded(events: Events, window: Window) -> Events:
    """Return events with a column for every feature of a window, also for those added after the events."""
    window.make_room()
    wide = {
        "window_codes": int(np.max(window.ring.code_column, initial=-1)) + 1,
        "window_numbers": int(np.max(window.ring.number_column, initial=-1)) + 1,
    }
    full = dict(events)
    for name, columns in wide.items():
        array = events[name]
        missing = np.full(
            (max(columns - len(array), 0), array.shape[1]), -1 if array.dtype == np.int32 else np.nan
        )
        full[name] = np.ascontiguousarray(np.concatenate([array, missing.astype(array.dtype)]))
    return full

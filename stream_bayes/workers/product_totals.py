"""The sum of shards that a model has: of a learner its own (`total`), of a product's model what the product brings."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Protocol, Self

from stream_bayes.errors import BadState
from stream_bayes.learners.catalogue import class_named
from stream_bayes.registry import Registry
from stream_bayes.streams.served_models.answers import LabelProbabilities
from stream_bayes.streams.served_models.protocol import Served
from stream_bayes.streams.served_models.served import served
from stream_bayes.workers.shard_model import NumberShardModel, ShardModel
from stream_bayes.workers.summable import SummedLearner, learner_of
from stream_bayes.workers.total import Total

__all__ = ["TOTALS", "ModelTotal", "ProductTotal", "ServedShard", "shard_of", "total_like", "total_of"]


class ModelTotal(Protocol):
    """The sum of all shards' models: every worker answers from it. A worker's shards share its lock."""

    lock: threading.RLock

    @property
    def model(self) -> Any:
        """The sum as a model."""
        ...

    @property
    def served(self) -> Any:
        """The sum as the engine serves it."""
        ...

    @property
    def shards(self) -> Mapping[int, Any]:
        """The model of each shard."""
        ...

    @property
    def memory_bytes(self) -> int:
        """The bytes of the sum and of all shards."""
        ...

    def clone(self) -> Any:
        """Return a model without counts."""
        ...

    def loaded(self, shard: int, parts: Mapping[str, bytes]) -> Any:
        """Return the model of a publication. Raise `BadState` if it is not valid, or of other arguments."""
        ...

    def replace(self, shards: Mapping[int, Any]) -> None:
        """Replace the models of these shards, and take the sum again."""
        ...


class ServedShard(Served, Protocol):
    """The model of a shard as the engine serves it: it answers from tapes until it is live, then from the sum."""

    shard: int
    is_live: bool

    def replay(self, tape: bytes) -> None:
        """Take the answers of the next batch from a tape."""
        ...

    def go_live(self) -> None:
        """Add the shard's counts to the sum, and answer from it."""
        ...

    def take_tape(self) -> bytes:
        """Return the tape of the answers since the last call."""
        ...


class ProductTotal(ModelTotal, Protocol):
    """The sum of shards of a product's model, registered by the name of the model's class."""

    @classmethod
    def of(cls, model: Any, memory_budget: int | None) -> Self | None:
        """Return an empty sum for models like this one; None if it is of another class, or cannot be summed."""
        ...

    @classmethod
    def published(cls, state: Mapping[str, Any], key: bytes | None) -> Self:
        """Return an empty sum for models of the arguments of a published state; the key is that of hashed tokens."""
        ...

    def shard_model(self, shard: int) -> ServedShard:
        """Return the model of a shard."""
        ...

    def answer(self, x: Any) -> LabelProbabilities:
        """Return the answer of the sum for an event as the topic holds it."""
        ...


TOTALS: Registry[type[ProductTotal]] = Registry("class of models with shards", "totals")


def total_of(
    model: Any,
    max_names: int | None = None,
    memory_budget: int | None = None,
    level: float | None = None,
) -> Total | ProductTotal:
    """Return an empty sum for the shards of a model. `level` is that of the intervals of numbers.

    Raises
    ------
    CannotMerge
        If its shards cannot be summed; the message names the reason and what to use instead.
    """
    name = type(model).__name__
    total = TOTALS[name].of(model, memory_budget) if name in TOTALS else None
    if total is not None:
        return total
    learner = learner_of(model)
    return Total(learner, served(model).decide, max_names, memory_budget, level)


def total_like(state: Mapping[str, Any], key: bytes | None) -> Total | ProductTotal:
    """Return an empty sum for models of the class and arguments of a state. Raise `BadState` for an unknown class."""
    name = str(state.get("learner"))
    if name in TOTALS:
        return TOTALS[name].published(state, key)
    kind = class_named(name)
    if kind is None or not issubclass(kind, SummedLearner):
        raise BadState(f"the published model is of the unknown class {state.get('learner')!r}")
    learner: SummedLearner = kind.from_state(state).clone()
    return Total(learner)


def shard_of(total: Total | ProductTotal, number: int) -> ServedShard:
    """Return the model of a shard, which answers from the sum."""
    if isinstance(total, Total):
        kind = NumberShardModel if total.served.predicts_numbers else ShardModel
        return kind(number, total.clone(), total)
    return total.shard_model(number)

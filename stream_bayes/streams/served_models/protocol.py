"""The protocol of models as the engine uses them: predict, learn, unlearn, save."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from stream_bayes.core.values.payloads import Payload
from stream_bayes.drift.log import DriftLog
from stream_bayes.errors import StreamBayesError
from stream_bayes.streams.served_models.answers import BatchAnswers, LabelProbabilities

__all__ = ["Served", "ServedInTime", "ServedNumbers"]


class Served(Protocol):
    """A model as the engine uses it.

    Attributes
    ----------
    name
        Name of its class, for snapshots.
    model
        The model itself. `load` may replace it by another object.
    is_unsupervised
        True if it learns events that have no label.
    predicts_numbers
        True if labels are numbers: it is then a `ServedNumbers`.
    is_timed
        True if samples fade by their own time: it is then a `ServedInTime`.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> from stream_bayes.streams import Served, served
    >>> model: Served = served(NaiveBayes())
    """

    name: str
    model: Any
    is_unsupervised: bool
    predicts_numbers: bool
    is_timed: bool

    def answer(self, x: Any, /) -> LabelProbabilities:
        """Return the probability of each label; learn nothing."""
        ...

    def hold(self, x: Any, /) -> Any:
        """Return a sample as it is to be learned when its label comes: with what its prediction saw besides it."""
        ...

    def learn(self, x: Any, y: Any, w: float, /) -> None:
        """Learn a sample."""
        ...

    def predict_then_learn(self, x: Any, y: Any, w: float, /) -> LabelProbabilities:
        """Return the probability of each label, then learn the sample."""
        ...

    def process(
        self, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[float], /
    ) -> tuple[BatchAnswers, StreamBayesError | None]:
        """Predict and learn samples sequentially, up to one that is refused; only predict those without a label.

        Returns
        -------
        The answers up to there, and the error of the refused sample; None if none was refused.
        """
        ...

    def decide(self, answer: LabelProbabilities, /) -> Any:
        """Return the decision for these probabilities."""
        ...

    @property
    def clock(self) -> int | None:
        """The clock of the model, to be passed to `unlearn` later; None if it has none."""
        ...

    @property
    def generation(self) -> int:
        """Number of times that the model was replaced by another."""
        ...

    @property
    def drifts(self) -> DriftLog | None:
        """The drift log; None for a model without drift detection."""
        ...

    @property
    def drift_state(self) -> str | None:
        """The `state_` of the `DriftAdaptive` that follows drift; None for a model without drift detection."""
        ...

    def content(self, x: Any) -> Payload:
        """Return what was learned from a sample, so that it can be unlearned."""
        ...

    def relearn(self, content: Payload, was: Any, y: Any, w: float, clock: int | None) -> None:
        """Replace the label of a learned sample; if that is refused, keep the old one."""
        ...

    def unlearn(self, content: Payload, y: Any, w: float, clock: int | None) -> None:
        """Unlearn a sample."""
        ...

    def work(self) -> bool:
        """Do a slice of deferred work; return True if there is more. Answers do not change."""

    def unlearning_fault(self, *, is_read_again: bool) -> str | None:
        """Return the reason why it cannot unlearn samples exactly; None if it can.

        Parameters
        ----------
        is_read_again
            True for samples that are read again from the log, False for those with the content that was learned.
        """
        ...

    def settings(self) -> dict[str, Any]:
        """Return its class and arguments as JSON values: models with equal settings can load each other's state."""
        ...

    def freeze(self) -> Callable[[], dict[str, Any]]:
        """Freeze the state; the returned function makes a snapshot's section of it, later and in any thread."""
        ...

    def load(self, state: Mapping[str, Any]) -> None:
        """Load a state.

        Raises
        ------
        BadState
            If it is not valid, or of a model with other settings.
        """
        ...


class ServedNumbers(Served, Protocol):
    """A model whose labels are numbers: its answers are `{"mean": ..., "low": ..., "high": ...}`, or empty.

    Attributes
    ----------
    level
        The level of its intervals.
    has_targets
        True if a label is several numbers: the answers are then by target.
    """

    level: float
    has_targets: bool

    def read_label(self, y: Any, /) -> Any:
        """Return a label as a number, or as a tuple of targets and numbers.

        Raises
        ------
        BadLabel
            If it is none, or not finite.
        """
        ...


class ServedInTime(Served, Protocol):
    """A model whose samples fade by their own time, in seconds since 1970; one without a time is refused."""

    def learn(self, x: Any, y: Any, w: float, at: float | None = None, /) -> None:
        """Learn a sample of a time."""
        ...

    def predict_then_learn(self, x: Any, y: Any, w: float, at: float | None = None, /) -> LabelProbabilities:
        """Return the probability of each label, then learn the sample."""
        ...

    def process(
        self,
        xs: Sequence[Any],
        ys: Sequence[Any],
        ws: Sequence[float],
        ats: Sequence[float | None] | None = None,
        /,
    ) -> tuple[BatchAnswers, StreamBayesError | None]:
        """Predict and learn samples sequentially, as `Served.process` does."""
        ...

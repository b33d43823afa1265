"""The spam filter as the engine uses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stream_bayes.core.values.payloads import Payload
from stream_bayes.errors import BadState, BadValue, NotSupported, StreamBayesError
from stream_bayes.mail.filter.filter import MessageOrBag, SpamFilter
from stream_bayes.streams.served_models.answers import BatchAnswers, LabelProbabilities, process_one_by_one

__all__ = ["ServedFilter"]

FIELDS = ("tokens", "mail", "text")


class JudgedAnswer(dict[Any, float]):
    """The probabilities of a message with its verdict, which what is learned later must not change. The probabilities
    are those of both labels; empty before anything was learned. The verdict is the decision by what was learned then.
    """

    def __init__(self, probabilities: LabelProbabilities, verdict: Any) -> None:
        super().__init__(probabilities)
        self.verdict = verdict


class ServedFilter:
    """A `SpamFilter`, which keeps a receipt for each message by the message's id.

    The `x` of an event holds the message as `"tokens"` (a bag), `"mail"` (RFC 822) or `"text"`, and its `"id"`, if any.
    The decision is the verdict of the filter. Loading a state replaces `model`.

    Examples
    --------
    >>> served = ServedFilter(SpamFilter())
    >>> served.learn({"id": "1", "text": "free pills"}, "spam", 1.0)
    >>> served.relearn(served.content({"id": "1", "text": "free pills"}), "spam", "ham", 1.0, None)
    >>> served.model.label_of("1")
    'ham'
    """

    name = "SpamFilter"
    generation = 0
    is_unsupervised = False
    predicts_numbers = False
    drifts = None
    drift_state = None
    clock = None  # a receipt is enough to unlearn a message

    def __init__(self, model: SpamFilter) -> None:
        self.model = model
        self.is_timed = model.keep is not None

    def answer(self, x: Any, /) -> LabelProbabilities:
        answer = self.model.predict_proba_one(_message(x))
        return JudgedAnswer(answer, self.model.decide(answer))

    def learn(self, x: Any, y: Any, w: float, at: float | None = None, /) -> None:
        _check_weight(w)
        self.model.learn_one(_message(x), y, id=self._id(x), at=self._time_to_learn_at(at))

    def predict_then_learn(self, x: Any, y: Any, w: float, at: float | None = None, /) -> LabelProbabilities:
        _check_weight(w)
        moment = self._time_to_learn_at(at)
        message = _message(x)
        probabilities = self.model.predict_proba_one(message)
        answer = JudgedAnswer(probabilities, self.model.decide(probabilities))
        self.model.learn_one(message, y, id=self._id(x), at=moment)
        return answer

    def _time_to_learn_at(self, at: float | None) -> float | None:
        """Return the time to learn a message at; None for a filter that keeps all tokens."""
        if not self.is_timed:
            return None
        if at is None:
            raise BadValue("a filter with keep needs the time of each message, and this one has none")
        return at

    def process(
        self,
        xs: Sequence[Any],
        ys: Sequence[Any],
        ws: Sequence[float],
        ats: Sequence[float | None] | None = None,
        /,
    ) -> tuple[BatchAnswers, StreamBayesError | None]:
        return process_one_by_one(self.answer, self.predict_then_learn, xs, ys, ws, ats)

    def decide(self, answer: LabelProbabilities, /) -> Any:
        return answer.verdict if isinstance(answer, JudgedAnswer) else self.model.decide(answer)

    def hold(self, x: Any) -> Any:
        return x

    def content(self, x: Any) -> Payload:
        return self._id(x)

    def relearn(self, content: Payload, was: Any, y: Any, w: float, clock: int | None) -> None:
        self.model.correct(content, y)

    def unlearn(self, content: Payload, y: Any, w: float, clock: int | None) -> None:
        # After a correction the receipt is of the new label.
        if self.model.label_of(content) in (None, y):
            self.model.forget(content)

    def work(self) -> bool:
        return False

    def unlearning_fault(self, *, is_read_again: bool) -> str | None:
        return None  # a message without a receipt is refused when it is unlearned

    def settings(self) -> dict[str, Any]:
        return {"learner": self.name, "parameters": self.model.settings()}

    def freeze(self) -> Callable[[], dict[str, Any]]:
        state = self.model.state()
        return lambda: state

    def load(self, state: Mapping[str, Any]) -> None:
        loaded = SpamFilter.from_state(state, self.model.key)
        saved, ours = loaded.settings(), self.model.settings()
        others = [f"{name}={saved[name]!r}, not {ours[name]!r}" for name in ours if saved[name] != ours[name]]
        if others:
            raise BadState(f"the state is of a SpamFilter with other arguments: {', '.join(others)}")
        # Those of mails that were sent since count, too; and decoders read by the object that was there.
        correspondents = self.model.correspondents
        loaded.correspondents.merge(correspondents)
        correspondents.load(loaded.correspondents.array())
        loaded.tokenizer.correspondents = correspondents
        self.model = loaded

    def _id(self, x: Any) -> str:
        name = x.get("id")
        return name if isinstance(name, str) else self.model.id_of(_message(x))


def _message(x: Any) -> MessageOrBag:
    """Return the message in the features of an event."""
    fields = [name for name in FIELDS if x.get(name) is not None]
    if len(fields) != 1:
        raise BadValue(
            f"expected a message in one of the fields {', '.join(FIELDS)}, got an event with {sorted(x)}"
        )
    message: Any = x[fields[0]]
    if fields[0] == "mail" and isinstance(message, str):
        return message.encode("utf-8", "surrogatepass")
    return message


def _check_weight(w: float) -> None:
    if w != 1.0:
        raise NotSupported(f"a SpamFilter takes no weights; this message has {w!r}")

"""Bodies of requests, checked as they are decoded; the OpenAPI description is made of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from stream_bayes.door.problems import Refused

__all__ = ["ExplainBody", "LabelBody", "LearnBody", "PredictBody", "QueryBody", "decoded"]

MOST_EVENTS = 20_000

Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]  # as they are passed on and saved
JSONScalar = str | int | float | bool | None
Features = dict[str, Any]


class PredictBody(msgspec.Struct, forbid_unknown_fields=True):
    """One event as `x`, or many as `events`. `model` names a challenger, by default it is the pipeline's own model.
    `level`, such as 0.95, adds the credible interval of each probability.

    Examples: `{"x": {"sky": "grey"}}`, `{"events": [{"sky": "grey"}, {"sky": "blue"}]}`.
    """

    x: Features | None = None
    events: Annotated[list[Features], msgspec.Meta(max_length=MOST_EVENTS)] | None = None
    level: Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)] | None = None
    unknown: Literal["refuse", "ignore"] = "refuse"
    model: str | None = None


class ExplainBody(msgspec.Struct, forbid_unknown_fields=True):
    """An event as `x`, or the id of one in the history. `level` as in `PredictBody`; `model` names a challenger."""

    x: Features | None = None
    id: str | None = None
    level: Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)] | None = None
    unknown: Literal["refuse", "ignore"] = "refuse"
    model: str | None = None


class QueryBody(msgspec.Struct, forbid_unknown_fields=True):
    """Evidence, targets, and what to compute.

    Evidence is a value for each variable, or `{value: likelihood}` as soft evidence. Without targets the posteriors of
    all variables are returned. `level`, such as 0.95, adds credible intervals; `most_probable` the most probable values
    of all variables together. `model` names a challenger.
    """

    evidence: dict[str, JSONScalar | dict[str, float]] = {}
    targets: list[str] | None = None
    level: Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)] | None = None
    most_probable: bool = False
    model: str | None = None


class LabelBody(msgspec.Struct, forbid_unknown_fields=True):
    """The label of the sample with this key.

    A `correction` is refused for a key that no sample has; a `label` waits for its sample. A label that the model has
    never learned is refused unless `new_label` is true.
    """

    key: str | Whole | float | bool
    label: str | Whole | float | bool
    kind: Literal["label", "correction"] = "correction"
    new_label: bool = False


class LearnBody(msgspec.Struct, forbid_unknown_fields=True):
    """The label of a mail by its id. A raw mail is sent as message/rfc822, with `?label=`."""

    id: str
    label: str


def decoded(body: bytes, kind: type[Any]) -> Any:
    """Return a body as an object of its kind, or refuse it with the place of the fault.

    Examples
    --------
    >>> decoded(b'{"x": {"sky": "grey"}}', PredictBody).x
    {'sky': 'grey'}
    >>> decoded(b'{"x": 3}', PredictBody)
    Traceback (most recent call last):
        ...
    stream_bayes.door.problems.Refused: Expected `object | null`, got `int` - at `$.x`; GET docs describes the body
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise Refused(422, "body", f"{error}; GET docs describes the body") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, "not-json", f"expected a JSON object: {error}") from None

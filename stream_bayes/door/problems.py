"""Problem details (RFC 9457): each refusal states what was expected, what came, and what to do. Never a stack trace."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

from stream_bayes.errors import (
    BadLabel,
    BadStructure,
    BadValue,
    ImpossibleEvidence,
    KindChanged,
    NotLearned,
    NotSupported,
    NoValueKnown,
    SchemaError,
    StreamBayesError,
    UnknownFeature,
)

__all__ = ["Refused", "internal_problem", "problem", "problem_of"]

STATUS: dict[type[StreamBayesError], int] = {
    ImpossibleEvidence: 422,
    UnknownFeature: 422,
    KindChanged: 422,
    BadLabel: 422,
    NoValueKnown: 409,
    NotLearned: 409,
    SchemaError: 422,
    BadStructure: 422,
    NotSupported: 409,
    BadValue: 422,
}


class Refused(Exception):
    """A request that is refused. `status` is that of the answer, `kind` the kind of problem as a few words with
    hyphens.
    """

    def __init__(
        self, status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None, **members: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.headers = dict(headers or {})
        self.members = members

    @property
    def response(self) -> Response:
        """The answer."""
        return problem(self.status, self.kind, self.detail, self.headers, **self.members)


def problem(
    status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None, **members: Any
) -> Response:
    """Return a problem answer."""
    body = {
        "type": f"urn:stream-bayes:{kind}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        **members,
    }
    return Response(
        msgspec.json.encode(body), status, dict(headers or {}), media_type="application/problem+json"
    )


def problem_of(error: StreamBayesError) -> Response:
    """Return the problem answer for an error of the package.

    Examples
    --------
    >>> answer = problem_of(UnknownFeature("the model has learned no feature 'skye'; did you mean 'sky'?"))
    >>> answer.status_code, msgspec.json.decode(answer.body)["type"]
    (422, 'urn:stream-bayes:unknown-feature')
    """
    kind = type(error)
    status = next((STATUS[each] for each in kind.__mro__ if each in STATUS), 422)
    words = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in kind.__name__)
    return problem(status, words.removeprefix("-"), str(error.args[0]) if error.args else str(error))


def internal_problem() -> Response:
    """Return the problem answer for a fault of the service itself: nothing of the error, which may hold data."""
    detail = "the service failed at this request; its log names the place. Other requests are answered"
    return problem(500, "internal", detail)

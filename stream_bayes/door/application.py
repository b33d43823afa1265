"""An application of routes behind the guard, whose errors are all answered by problem documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from stream_bayes.door.problems import Refused, internal_problem, problem, problem_of
from stream_bayes.door.request_checks import Door, guarded
from stream_bayes.errors import StreamBayesError

__all__ = ["application"]


def application(
    routes: Sequence[BaseRoute], door: Door, advice: str, lifespan: Callable[[Any], Any] | None = None
) -> ASGIApp:
    """Return an application of routes. Endpoints may raise `Refused` and errors of the package. `door` has the limits,
    and what the connections share. `advice` says what to do about a path that there is not. `lifespan` is as
    Starlette's.
    """

    async def not_found(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        allowed = dict(error.headers or {})
        detail = (
            f"{request.url.path} takes {allowed.get('Allow', 'other methods')}, not {request.method}"
            if error.status_code == 405
            else f"there is nothing at {request.url.path}; {advice}"
        )
        return problem(error.status_code, "no-such-path", detail, allowed)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        door.refusals.count(error.kind)
        return error.response

    async def of_package(request: Request, error: Exception) -> Response:
        assert isinstance(error, StreamBayesError)
        return problem_of(error)

    async def failed(request: Request, error: Exception) -> Response:
        return internal_problem()  # in the framework's place; the error goes on to the guard, which logs it

    handlers: dict[Any, Any] = {
        HTTPException: not_found,
        Refused: refused,
        StreamBayesError: of_package,
        Exception: failed,
    }
    return guarded(Starlette(routes=list(routes), exception_handlers=handlers, lifespan=lifespan), door)

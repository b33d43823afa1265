r"""The filter over HTTP, for rspamd's plug-in and for scripts.

    POST /judge           a mail -> {"verdict": "spam", "probability": 0.99812, "score": 4.173, "id": "9f86..."}
    POST /learn/spam      a mail -> {"outcome": "learned"}, or "corrected" or "unchanged"; also /learn/ham
    POST /correct/spam    {"id": ...} -> the same
    POST /forget          {"id": ...} -> {"outcome": "forgotten"}
    GET  /ping            {"judged": 17, "changed": 3}
    GET  /metrics         for Prometheus; /livez and /readyz for probes

A mail is sent as message/rfc822, an id as application/json. Changes need the server's token, except over a Unix socket.
With users, the header `User:` or `?user=` names the user whose filter is used and changed; without it, the site's is.
Errors are problem documents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from stream_bayes.door.application import application
from stream_bayes.door.problems import Refused, problem, problem_of
from stream_bayes.door.refusals import Refusals
from stream_bayes.door.request_checks import Access, Door
from stream_bayes.errors import NotLearned, StreamBayesError
from stream_bayes.mail.server.callers import Caller, NotAllowed
from stream_bayes.mail.server.filter_service import FilterService

__all__ = ["ACCESS", "filter_app"]

THREADS = 4
MOST_WAITING = 64  # requests that wait for a thread
ACCESS = Access(
    computing=("/judge",),
    name_hosts="start the server with --allow-host NAME",
    set_token="Name the environment variable with a token by --token-env",
)


class IdBody(msgspec.Struct, forbid_unknown_fields=True):
    """The id of a mail that was judged or learned, or its first characters."""

    id: str


class _Filter:
    """The requests to a filter."""

    def __init__(
        self,
        service: FilterService,
        caller_of: Callable[[Any], Caller],
        refusals: Callable[[], Iterable[Refusals]],
    ) -> None:
        self._service = service
        self._caller_of = caller_of
        self._refusals = refusals
        self._pool = ThreadPoolExecutor(THREADS, "http")
        self._waiting = 0

    def routes(self) -> list[Route]:
        """Return the routes."""
        posts = {
            "/judge": self._judge,
            "/learn/{label}": self._learn,
            "/correct/{label}": self._correct,
            "/forget": self._forget,
        }
        return [
            *(Route(path, self._answering(verb), methods=["POST"]) for path, verb in posts.items()),
            Route("/ping", self._ping),
            Route("/metrics", self._metrics),
            Route("/livez", _alive),
            Route("/readyz", _alive),
        ]

    def _answering(self, verb: Callable[[Request, bytes, str | None], Mapping[str, Any]]) -> Any:
        """Return an endpoint that runs a verb in a thread."""

        async def answer(request: Request) -> Response:
            body, loop = await request.body(), asyncio.get_running_loop()
            if self._waiting >= MOST_WAITING:
                raise Refused(503, "busy", "too many mails wait; try again", {"Retry-After": "1"})
            self._waiting += 1
            try:
                return await loop.run_in_executor(self._pool, self._run, verb, request, body)
            finally:
                self._waiting -= 1

        return answer

    def _run(
        self, verb: Callable[[Request, bytes, str | None], Mapping[str, Any]], request: Request, body: bytes
    ) -> Response:
        try:
            label = request.path_params.get("label")
            if label not in (None, *self._service.classes):
                names = " or ".join(map(str, self._service.classes))
                raise Refused(404, "no-such-path", f"expected the label {names} at the end of the path")
            caller = self._caller_of(request.scope["state"]["connection"].transport.get_extra_info("socket"))
            user = caller.user(request.headers.get("user") or request.query_params.get("user"))
            if verb != self._judge and not caller.may_learn:
                self._service.note_refusal()
                raise Refused(
                    403, "no-writes", "changes are refused here: start the server with --allow-learn"
                )
            return _json(verb(request, body, user))
        except NotAllowed as error:
            raise Refused(403, "other-user", str(error)) from None
        except NotLearned as error:
            return problem(404, "not-learned", str(error))
        except StreamBayesError as error:
            return problem_of(error)
        except OSError as error:
            return problem(503, "not-stored", f"the filter's files cannot be used: {error.strerror or error}")

    def _judge(self, request: Request, body: bytes, user: str | None) -> dict[str, Any]:
        judgement = self._service.judge(body, user)
        return {
            "verdict": judgement.verdict,
            "probability": judgement.probability,
            "score": judgement.score,
            "id": judgement.id,
            "threshold": judgement.threshold,
            **({"as": judgement.side} if judgement.side != judgement.verdict else {}),
            **({"note": judgement.note} if judgement.note else {}),
        }

    def _learn(self, request: Request, body: bytes, user: str | None) -> dict[str, Any]:
        return {"outcome": self._service.learn(body, request.path_params["label"], user)}

    def _correct(self, request: Request, body: bytes, user: str | None) -> dict[str, Any]:
        return {"outcome": self._service.correct(_id_in(body), request.path_params["label"], user)}

    def _forget(self, request: Request, body: bytes, user: str | None) -> dict[str, Any]:
        self._service.forget(_id_in(body), user)
        return {"outcome": "forgotten"}

    async def _ping(self, request: Request) -> Response:
        return _json({"judged": self._service.judged, "changed": self._service.changed})

    async def _metrics(self, request: Request) -> Response:
        registry = CollectorRegistry()
        registry.register(self)
        return Response(generate_latest(registry), media_type="text/plain; version=0.0.4; charset=utf-8")

    def collect(self) -> list[Metric]:
        """Return the metrics: mails judged, changes, and the refusals of all the server's sockets."""
        service = self._service
        return [
            CounterMetricFamily("stream_bayes_mails_judged", "Mails judged.", service.judged),
            CounterMetricFamily(
                "stream_bayes_mail_changes", "Mails learned, corrected, forgotten.", service.changed
            ),
            *(each.metric({}) for each in self._refusals()),
        ]


def filter_app(
    service: FilterService,
    door: Door,
    caller_of: Callable[[Any], Caller],
    refusals: Callable[[], Iterable[Refusals]],
) -> ASGIApp:
    """Return the application behind its guard. `door` has the limits, and what the connections share. `caller_of`
    returns the rights of the client at the other end of a socket. `refusals` returns those of all sockets of the
    server, for the metrics.
    """
    routes = _Filter(service, caller_of, refusals).routes()
    return application(
        routes, door, "expected POST /judge, /learn/LABEL, /correct/LABEL or /forget, or GET /ping"
    )


async def _alive(request: Request) -> Response:
    return Response("alive\n", media_type="text/plain")


def _json(answer: Mapping[str, Any]) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")


def _id_in(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=IdBody).id.strip()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(422, "body", f'expected {{"id": "9f86d081"}}: {error}') from None

"""The routes of the service, over a board and its newest view.

What takes microseconds is answered in the event loop; batches, explanations of mails and queries of networks go to one
worker thread. Every answer of a model has the generation and the position that it is of.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from stream_bayes.checked_names import closest
from stream_bayes.core.values.values import shown
from stream_bayes.door.application import application
from stream_bayes.door.problems import Refused
from stream_bayes.door.query_numbers import real_number, whole_number
from stream_bayes.door.request_checks import Access, Door
from stream_bayes.errors import BadLabel, NotLearned
from stream_bayes.serve.bodies import ExplainBody, LabelBody, LearnBody, PredictBody, QueryBody, decoded
from stream_bayes.serve.event_history import (
    UNSURE_BELOW,
    EventFilter,
    Only,
    certainty_of,
    confusion_of,
    csv_text,
    verdict_of,
)
from stream_bayes.serve.event_stream import EventStream
from stream_bayes.serve.feature_drifts import described_drifts
from stream_bayes.serve.followed import MessageLearner
from stream_bayes.serve.graphs import change_svg
from stream_bayes.serve.metrics import metrics_text
from stream_bayes.serve.model_answers import ModelAnswers
from stream_bayes.serve.openapi import Operation, described, docs_page
from stream_bayes.serve.other_services import OtherServices
from stream_bayes.serve.plain_values import as_json, by_text
from stream_bayes.serve.regressor_answers import RegressorAnswers
from stream_bayes.serve.status_board import Board
from stream_bayes.serve.threshold_costs import threshold_costs
from stream_bayes.serve.views import View
from stream_bayes.streams.engine.dead_letters import REFUSED
from stream_bayes.streams.files.label_log import GivenLabel

__all__ = ["ACCESS", "PAGE", "Service", "ServiceAbilities"]

ACCESS = Access(computing=("/v1/predict", "/v1/explain", "/v1/query", "/v1/check"), endless=("/v1/events",))
PAGE = Path(__file__).parent / "page"
QUICK_EVENTS = 20  # events of a request that are predicted in the event loop
MOST_WAITING = 64  # requests that wait for the worker
LONGEST_KEY = 200  # characters of an Idempotency-Key
CORRECTABLE = "Corrections need a model that can unlearn, such as nb, aode or tan, without [drift]"


@dataclass(frozen=True)
class ServiceAbilities:
    """The abilities of the service besides reading."""

    name: str  # of the pipeline or model
    no_labels: str | None = None  # why it takes none, and what to do; None if it takes them
    settings: Mapping[str, Any] | None = None  # of the model, without secrets
    target: str | None = None  # the name of the label's field
    follows: str = "pipeline"  # where the model comes from: "pipeline", "snapshots", "file" or "topic"
    # why the model cannot unlearn a label, so that none can be corrected; None if it can
    no_corrections: str | None = None


Answer = TypeVar("Answer")


class Service:
    """The service as an ASGI application. `board` is what it shows, `traits` what it can do. `mails` learns mails
    directly, for a filter of its own directory; None where the pipeline learns. `others` are the addresses of further
    services to show, each with a token for reads.
    """

    def __init__(
        self,
        board: Board,
        traits: ServiceAbilities,
        door: Door,
        mails: MessageLearner | None = None,
        others: Sequence[tuple[str, str | None]] = (),
    ) -> None:
        self.board = board
        self.traits = traits
        self.door = door
        self._mails = mails
        self._others = OtherServices(others)
        self._worker = ThreadPoolExecutor(1, "answers")
        self._waiting = 0
        self.app = self._application()

    def _application(self) -> ASGIApp:
        operations = [
            Operation(
                "GET",
                "/v1/model",
                self.model,
                "What a model has learned and can answer; name= chooses a challenger",
            ),
            Operation(
                "GET",
                "/v1/evaluation",
                self.evaluation,
                "Measures, dead letters, lag; name= chooses a challenger",
            ),
            Operation("GET", "/v1/status", self.status, "The name and status of the pipeline alone"),
            Operation(
                "GET",
                "/v1/services",
                self.services,
                "The status of this service, and of those in serve.others",
            ),
            Operation("GET", "/v1/history", self.history, "The newest events; filtered, as JSON or CSV"),
            Operation(
                "GET", "/v1/confusion", self.confusion, "Events of the history by label and prediction"
            ),
            Operation(
                "GET",
                "/v1/evaluation/parts",
                self.parts_over_time,
                "Measures of each label or variable over time",
            ),
            Operation(
                "GET",
                "/v1/thresholds",
                self.thresholds,
                "Errors and costs of deciding from each threshold on",
            ),
            Operation(
                "GET", "/v1/drifts/features", self.feature_drifts, "Each feature: a reference against now"
            ),
            Operation("GET", "/v1/drifts", self.drifts, "The drift log, oldest first"),
            Operation(
                "GET",
                "/v1/drifts/picture",
                self.drift_picture,
                "The structure of the entry number=, as SVG: graph= before, after, or the change alone",
            ),
            Operation(
                "GET",
                "/v1/events",
                EventStream(self.board),
                "Server-sent events: status, events, drifts, view, outcome",
            ),
            Operation(
                "POST", "/v1/predict", self.predict, "Probabilities of one event, or of many", PredictBody
            ),
            Operation(
                "POST", "/v1/explain", self.explain, "Evidence of each feature for each label", ExplainBody
            ),
            Operation("POST", "/v1/query", self.query, "Posteriors of a network given evidence", QueryBody),
            Operation(
                "POST", "/v1/labels", self.labels, "Give or correct the label of a sample, by key", LabelBody
            ),
            Operation("POST", "/v1/check", self.check, "Verdict on a raw mail (message/rfc822)", bytes),
            Operation(
                "POST",
                "/v1/learn",
                self.learn,
                "Learn a raw mail, or correct one by id",
                LearnBody,
            ),
            Operation("GET", "/metrics", self.metrics, "Metrics in Prometheus' text format"),
            Operation("GET", "/livez", self.livez, "200 while the service runs"),
            Operation("GET", "/readyz", self.readyz, "200 while the pipeline reads and saves"),
        ]
        routes: list[Any] = [Route(each.path, each.endpoint, methods=[each.method]) for each in operations]
        spec = described(operations, self.traits.name)
        page = docs_page(spec)

        async def openapi(request: Request) -> Response:
            return _json(spec)

        async def docs(request: Request) -> Response:
            return Response(page, media_type="text/html; charset=utf-8")

        routes += [Route("/openapi.json", openapi), Route("/docs", docs)]
        if (PAGE / "index.html").exists():
            routes.append(Mount("/", StaticFiles(directory=PAGE, html=True)))
        return application(routes, self.door, "GET openapi.json lists the paths", self._lifespan)

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        self._worker.shutdown(wait=False, cancel_futures=True)
        self._others.close()

    # -- the model ----------------------------------------------------------------------------------------------------

    async def _view(self, name: str | None = None) -> View:
        """Return the newest view of the pipeline's own model, or of the challenger of a name."""
        challenger = None if name in (None, self.traits.name) else name
        challengers = self.board.status.get("challengers", {})
        if challenger is not None and challenger not in challengers:
            models = shown([self.traits.name, *challengers])
            raise Refused(
                404, "no-such-model", f"there is no model {shown(challenger)}; the models are {models}"
            )
        if challenger is not None and challengers[challenger]["failure"] is not None:
            reason = challengers[challenger]["failure"]
            raise Refused(409, "dropped", f"the challenger {shown(challenger)} was dropped: {reason}")
        view = await self.board.fresh_view(challenger)
        if view is not None:
            return view
        if self.board.problem is None and self.board.status.get("processed"):
            raise Refused(
                503,
                "busy",
                "the pipeline has not handed over a copy of this model yet; request again in a second",
                {"Retry-After": "1"},
            )
        raise NotLearned(
            self.board.problem
            or "there is no model yet; request again once the pipeline has processed events"
        )

    async def _asked(self, call: Callable[[ModelAnswers], dict[str, Any]], view: View) -> dict[str, Any]:
        """Let the copy of the worker answer."""
        return await self._in_worker(lambda: call(view.worker_copy))

    async def _in_worker(self, call: Callable[[], Answer]) -> Answer:
        if self._waiting >= MOST_WAITING:
            raise Refused(
                503, "busy", "too many requests wait for the model; send fewer at once", {"Retry-After": "1"}
            )
        self._waiting += 1
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._worker, call)
        finally:
            self._waiting -= 1

    async def predict(self, request: Request) -> Response:
        body: PredictBody = decoded(await request.body(), PredictBody)
        if (body.x is None) is (body.events is None):
            raise Refused(422, "body", 'expected one event as "x", or a list of them as "events"')
        view, ignore = await self._view(body.model), body.unknown == "ignore"
        if body.x is not None:
            answer = view.loop_copy.predict(body.x, ignore_unknown=ignore, level=body.level)
        else:
            events, level = body.events or [], body.level
            if len(events) <= QUICK_EVENTS:
                answer = view.loop_copy.predict_many(events, ignore_unknown=ignore, level=level)
            else:
                answer = await self._asked(
                    lambda copy: copy.predict_many(events, ignore_unknown=ignore, level=level), view
                )
        return _json(answer | {"model": view.stamp()})

    async def explain(self, request: Request) -> Response:
        body: ExplainBody = decoded(await request.body(), ExplainBody)
        if (body.x is None) is (body.id is None):
            raise Refused(422, "body", 'expected an event as "x", or the "id" of one in the history')
        x: Any = body.x if body.id is None else self._features_of(body.id)
        view = await self._view(body.model)
        ignore = body.unknown == "ignore" or body.id is not None
        if view.loop_copy.reads_messages:
            answer = await self._asked(lambda copy: copy.explain_message(x), view)
        else:
            is_read, level = body.id is not None, body.level
            answer = await self._asked(
                lambda copy: copy.explain(x, ignore_unknown=ignore, is_read=is_read, level=level), view
            )
        return _json(answer | {"model": view.stamp()})

    def _features_of(self, name: str) -> Any:
        entry = self.board.history.of_id(name)
        if entry is None:
            raise Refused(
                404, "not-in-history", f"the history holds no event {shown(name)}; GET v1/history lists them"
            )
        if entry.get("x") is None:
            raise Refused(
                409,
                "not-kept",
                'the history keeps no features; add "features" to serve.history.keep to explain events',
            )
        return entry["x"]

    async def query(self, request: Request) -> Response:
        body: QueryBody = decoded(await request.body(), QueryBody)
        view = await self._view(body.model)
        start = time.perf_counter()
        answer = await self._asked(
            lambda copy: copy.query(
                body.evidence, body.targets, body.level, most_probable=body.most_probable
            ),
            view,
        )
        return _json(answer | {"seconds": time.perf_counter() - start, "model": view.stamp()})

    async def model(self, request: Request) -> Response:
        name = request.query_params.get("name")
        view = await self._view(name)
        if view.described is None:
            await self._asked(lambda copy: view.describe(), view)
        settings = {
            "name": name or self.traits.name,
            "models": [self.traits.name, *self.board.status.get("challengers", {})],
            "follows": self.traits.follows,
            "target": self.traits.target,
            "settings": as_json(self.traits.settings),
            "labels_go_to": None if self.traits.no_labels is not None else "the pipeline",
            "no_labels": self.traits.no_labels,
            "no_corrections": self.traits.no_corrections,
            "writes": self.door.limits.token is not None,
        }
        return _json(settings | view.describe() | {"model": view.stamp()})

    # -- the stream ---------------------------------------------------------------------------------------------------

    async def evaluation(self, request: Request) -> Response:
        name = request.query_params.get("name")
        if name not in (None, self.traits.name):
            challenger = await self._view(name)
            measures = self.board.challenger_evaluations.get(name, {})
            return _json({"name": name, "measures": measures, "model": challenger.stamp()})
        view = await self.board.fresh_view()
        answer = {
            "status": self.board.status,
            "curve": self.board.curve.points,
            "measures": self.board.evaluation,
            "followers": len(self.board.followers),
            "model": None if view is None else view.stamp(),
        }
        return _json(answer)

    async def parts_over_time(self, request: Request) -> Response:
        return _json({"curve": self.board.parts_curve.points})

    async def thresholds(self, request: Request) -> Response:
        query, history = request.query_params, self.board.history
        missed = real_number(query.get("missed", "1"), "missed", 1e-6, 1e9)
        false_alarm = real_number(query.get("false_alarm", "1"), "false_alarm", 1e-6, 1e9)
        newest, label = history.newest(), query.get("label")
        answer = await self._in_worker(lambda: threshold_costs(newest, label, missed, false_alarm))
        return _json(answer | {"kept": len(history), "left_out": history.left_out})

    async def feature_drifts(self, request: Request) -> Response:
        history, against = self.board.history, request.query_params.get("against", "first")
        if against not in ("first", "older"):
            raise Refused(422, "wrong-value", f"against: expected first or older, got {shown(against)}")
        before, now = (list(history.first), history.since_first()) if against == "first" else history.halves()
        answer = await self._in_worker(lambda: described_drifts(before, now))
        return _json(answer | {"against": against, "kept": len(history), "left_out": history.left_out})

    async def status(self, request: Request) -> Response:
        return _json({"name": self.traits.name, "status": self.board.status})

    async def services(self, request: Request) -> Response:
        this_service = {"address": "", "name": self.traits.name, "status": self.board.status, "problem": None}
        return _json({"services": [this_service, *await self._others.statuses()]})

    async def history(self, request: Request) -> Response:
        query, history = request.query_params, self.board.history
        limit = whole_number(query.get("limit", "100"), "limit", 1, 100_000)
        key, form = query.get("key"), query.get("format", "json")
        if form not in ("json", "csv"):
            raise Refused(422, "wrong-value", f"format: expected json or csv, got {shown(form)}")
        if key is not None:
            entry = history.of_key(history.key_of(key))
            matching = [] if entry is None else [entry]
        else:
            newest, wanted = history.newest(), _event_filter(query)
            matching = await self._in_worker(lambda: [each for each in newest if wanted.holds(each)])
        events = matching[:limit]
        if form == "csv":
            return Response(
                await self._in_worker(lambda: csv_text(events)), media_type="text/csv; charset=utf-8"
            )
        numbers = {
            "matching": len(matching),
            "kept": len(history),
            "most": history.most,
            "left_out": history.left_out,
        }
        return _json({"events": [self._with_verdict(each) for each in events], **numbers})

    def _with_verdict(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        return {**entry, "verdict": verdict_of(entry), "certainty": certainty_of(entry)}

    async def confusion(self, request: Request) -> Response:
        history = self.board.history
        newest = history.newest()
        cells = await self._in_worker(lambda: confusion_of(newest))
        counted = [[label, prediction, count] for (label, prediction), count in cells.items()]
        return _json(
            {"cells": counted, "kept": len(history), "most": history.most, "left_out": history.left_out}
        )

    async def drifts(self, request: Request) -> Response:
        return _json({"entries": list(self.board.drifts)})

    async def drift_picture(self, request: Request) -> Response:
        number = whole_number(request.query_params.get("number", ""), "number", 0, 10**12)
        changed = next(
            (each.get("structure") for each in self.board.drifts if each.get("number") == number), None
        )
        if not changed or not (changed.get("added") or changed.get("removed")):
            raise Refused(
                404,
                "no-change",
                f"entry {number} of the drift log changed no edge; GET v1/drifts lists the entries",
            )
        graph = request.query_params.get("graph", "change")
        if graph not in ("before", "after", "change"):
            raise Refused(422, "wrong-value", f"graph: expected before, after or change, got {graph!r}")
        return Response(change_svg(changed, graph), media_type="image/svg+xml")

    # -- labels and mails ---------------------------------------------------------------------------------------------

    async def labels(self, request: Request) -> Response:
        if self.traits.no_labels is not None:
            raise Refused(409, "no-labels", self.traits.no_labels)
        body: LabelBody = decoded(await request.body(), LabelBody)
        key = self.board.history.key_of(body.key) if isinstance(body.key, str) else body.key
        label = GivenLabel(key, body.label, body.kind, _idempotency_key(request))
        return await self._give(label, new_label=body.new_label)

    async def _give(self, given: GivenLabel, *, new_label: bool = False) -> Response:
        """Hand a label to the pipeline; return whether it is stored, and what became of it if that came soon."""
        view = await self._view()
        label = _label_of_model(given.label, view.loop_copy, new_label=new_label)
        self._check_correction(given.key, label)
        try:
            answer = await self.board.give_label(msgspec.structs.replace(given, label=label))
        except TimeoutError:
            raise Refused(
                503, "not-stored", "the pipeline did not confirm the label; send it again, which is harmless"
            ) from None
        if "conflict" in answer:
            raise Refused(422, "idempotency-key", answer["conflict"])
        if "error" in answer:
            raise Refused(503, "not-stored", f"the label could not be stored: {answer['error']}")
        outcome = answer.get("outcome", "stored")
        if answer.get("detail") is not None:
            raise self._refused_by_pipeline(given.key, outcome, answer["detail"])
        content = {"key": as_json(given.key), "label": as_json(label), "kind": given.kind}
        if not answer.get("is_new", True):
            note = "stored already: a request with this Idempotency-Key stored this label"
            return _json({"outcome": "stored_already", "detail": note, **content})
        if outcome == "stored":
            note = "the label is stored; the pipeline takes it in as soon as it comes to it"
            return _json({"outcome": "stored", "detail": note, **content}, 202)
        return _json({"outcome": outcome, **content})

    def _refused_by_pipeline(self, key: Any, outcome: str, detail: str) -> Refused:
        """Return the error for a label that the pipeline did not take in."""
        if outcome == REFUSED:
            advice = CORRECTABLE if self.traits.no_corrections is not None else "Send another label"
            return Refused(
                409, "refused", f"the model refuses this label: {detail}. {advice}", outcome=outcome
            )
        return Refused(
            404 if "too_late" in outcome or "without_sample" in outcome else 409,
            outcome.replace("_", "-"),
            f"{detail}: {shown(key)}. Correct a sample that the pipeline still stores ([labels] "
            'most_correctable and correct_within), or send "kind": "label" if its sample is still to come',
            outcome=outcome,
        )

    def _check_correction(self, key: Any, label: Any) -> None:
        """Refuse to correct a sample of the history if the model cannot unlearn it: it would be a dead letter."""
        fault, entry = self.traits.no_corrections, self.board.history.of_key(key)
        label_before = None if entry is None else entry["label"]
        if fault is not None and label_before is not None and label_before != as_json(label):
            detail = (
                f"{fault}: {shown(key)} was learned as {shown(label_before)}, and stays so. {CORRECTABLE}"
            )
            raise Refused(409, "no-corrections", detail)

    async def check(self, request: Request) -> Response:
        raw = await request.body()
        view = await self._view()
        return _json(await self._asked(lambda copy: copy.check(raw), view) | {"model": view.stamp()})

    async def learn(self, request: Request) -> Response:
        raw = await request.body()
        is_mail = request.headers.get("content-type", "").startswith("message/rfc822")
        if is_mail:
            label = request.query_params.get("label")
            if label is None:
                raise Refused(422, "body", "expected the label of the mail as ?label=ham or ?label=spam")
        else:
            body: LearnBody = decoded(raw, LearnBody)
            label = body.label
        if self._mails is not None:
            loop, learner = asyncio.get_running_loop(), self._mails
            done = await loop.run_in_executor(
                self._worker,
                lambda: learner.learn(raw, label) if is_mail else learner.correct(body.id, label),
            )
            return _json(done)
        view = await self._view()
        if not view.loop_copy.reads_messages:
            raise Refused(
                409, "not-supported", "the model is not a spam filter; send labels to POST v1/labels"
            )
        if self.traits.no_labels is not None:
            raise Refused(409, "no-labels", self.traits.no_labels)
        key = view.loop_copy.id_of_message(raw) if is_mail else body.id
        key = self.board.history.key_of(key)
        return await self._give(GivenLabel(key, label, request=_idempotency_key(request)))

    # -- health -------------------------------------------------------------------------------------------------------

    async def metrics(self, request: Request) -> Response:
        return Response(
            metrics_text(self.board, self.door.refusals),
            media_type="text/plain; version=0.0.4; charset=utf-8",
        )

    async def livez(self, request: Request) -> Response:
        return Response("alive\n", media_type="text/plain")

    async def readyz(self, request: Request) -> Response:
        ready = (
            self.board.view is not None
            if self.traits.follows != "pipeline"
            else self.board.status.get("ready")
        )
        return Response("ready\n" if ready else "not ready\n", 200 if ready else 503, media_type="text/plain")


def _label_of_model(label: Any, model: ModelAnswers, *, new_label: bool) -> Any:
    """Return a label as the model has it: a number, or the one of its classes that is written so.

    Raises
    ------
    Refused
        If it is none, or has never been learned and is not meant to be new.
    """
    if isinstance(model, RegressorAnswers):
        try:
            return model.read_label(label)
        except BadLabel as error:
            raise Refused(422, "no-number", str(error)) from None
    classes = model.classes
    label = by_text(label, classes) if isinstance(label, str) else label
    if classes and label not in classes and not new_label:
        raise Refused(
            422,
            "new-label",
            f"the model has never learned the label {shown(label)}{closest(label, classes)}; its labels are "
            f'{shown(list(classes))}. Send "new_label": true if it is meant',
        )
    return label


def _event_filter(query: QueryParams) -> EventFilter:
    """Return the filter that a query describes."""
    only: Only | None = next((each for each in get_args(Only) if each == query.get("only")), None)
    if query.get("only") and only is None:
        expected = ", ".join(get_args(Only))
        raise Refused(422, "wrong-value", f"only: expected one of {expected}; got {shown(query['only'])}")
    below = real_number(query.get("below", str(UNSURE_BELOW)), "below", 0, 1)
    return EventFilter(only, query.get("label"), query.get("prediction"), query.get("text") or None, below)


def _json(content: Mapping[str, Any] | Sequence[Any], status: int = 200) -> Response:
    return Response(msgspec.json.encode(content, enc_hook=str), status, media_type="application/json")


def _idempotency_key(request: Request) -> str | None:
    """Return the key by which a repeated request is recognised; None without one."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    key = key.strip().removeprefix('"').removesuffix('"')
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        raise Refused(422, "query", f"Idempotency-Key: expected 1 to {LONGEST_KEY} characters of ASCII")
    return key

"""A report of a service as one file: its page, with the answers that the service gave when the report was written.

The modules of the page are part of the file, each as the text of an address, by which the others import it. What asks
the service is replaced by what looks its answers up. The file loads nothing, and sends nothing.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from stream_bayes.errors import BadValue, SourceError
from stream_bayes.serve.app import PAGE

__all__ = ["ServiceAnswers", "report_of"]

SECONDS = 30.0  # for an answer
MOST_BYTES = 256 << 20  # of an answer
MOST_CELLS = 144  # of the confusion matrix whose events are part of a report
SHOWN = {"limit": "100", "format": "json"}  # events that the page shows at once
COSTS = {"missed": "1", "false_alarm": "1"}
NO_LABELS = "a report takes no labels; give them to the service"


class ServiceAnswers:
    """The answers of a service at an address such as "http://127.0.0.1:8080", with a token for reads if it needs one.

    Raises
    ------
    BadValue
        If the address is none of a service.
    """

    def __init__(self, address: str, token: str | None = None) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username:
            raise BadValue(f"expected the address of a service, as http://127.0.0.1:8080; got {address!r}")
        self._address = address
        self._connect: Callable[..., HTTPConnection] = (
            HTTPSConnection if parts.scheme == "https" else HTTPConnection
        )
        self._host, self._port, self._path = parts.hostname, parts.port, parts.path.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def get(self, path: str, parameters: Mapping[str, str] = {}) -> Any:
        """Return the answer to a GET; None if the service refuses it, as what its model cannot do."""
        return self._asked("GET", f"{path}?{urlencode(parameters)}" if parameters else path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the answer to a POST; None if the service refuses it."""
        return self._asked("POST", path, msgspec.json.encode(body))

    def _asked(self, method: str, path: str, body: bytes | None) -> Any:
        """Raise `SourceError` if the service cannot be reached, or wants a token."""
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        line = self._connect(self._host, self._port, timeout=SECONDS)
        try:
            line.request(method, f"{self._path}/{path}", body, headers)
            answer = line.getresponse()
            content = answer.read(MOST_BYTES + 1)
        except (OSError, HTTPException) as error:
            raise SourceError(f"{self._address} does not answer: {error}") from error
        finally:
            line.close()
        if answer.status in (401, 403):
            raise SourceError(
                f"{self._address} wants a token for reads; name its variable with --read-token-env"
            )
        if answer.status == 503 or len(content) > MOST_BYTES:
            raise SourceError(f"{self._address} has no answer to {path} yet, or too large a one; try again")
        if answer.status != 200:
            return None
        if "json" not in answer.getheader("content-type", ""):
            return content.decode("utf-8", "replace")
        try:
            return msgspec.json.decode(content)
        except msgspec.DecodeError as error:
            raise SourceError(f"{self._address} is no service of stream_bayes: {error}") from error


def report_of(service: ServiceAnswers) -> str:
    """Return the report of a service as HTML.

    Raises
    ------
    SourceError
        If the service cannot be reached, or is none of this package.
    """
    model, evaluation = service.get("v1/model"), service.get("v1/evaluation")
    if not isinstance(model, dict) or not isinstance(evaluation, dict) or "name" not in model:
        raise SourceError("the service has no model yet, or is none of stream_bayes; try again later")
    can = {**model["can"], "predict": False, "check": False}
    model |= {"can": can, "follows": "report", "writes": False, "no_labels": NO_LABELS}
    answers = [
        {"path": path, "parameters": dict(parameters), "answer": answer}
        for path, parameters, answer in (
            ("v1/model", {}, model),
            ("v1/evaluation", {}, evaluation),
            *_answers(service),
        )
        if answer is not None
    ]
    content = {"moment": time.time(), "status": evaluation.get("status") or {}, "answers": answers}
    return _page(str(model["name"]), content)


Answered = tuple[str, Mapping[str, str], Any]


def _answers(service: ServiceAnswers) -> Iterator[Answered]:
    """Yield all else that the page asks for, as it is opened and its cells are clicked."""

    def asked(path: str, **parameters: str) -> Answered:
        return path, parameters, service.get(path, parameters)

    for path in ("v1/evaluation/parts", "v1/drifts", "v1/confusion"):
        yield asked(path)
    for against in ("first", "older"):
        yield asked("v1/drifts/features", against=against)
    yield asked("v1/thresholds", **COSTS)
    yield asked("v1/history", **SHOWN)
    for only in ("right", "wrong", "waits"):
        yield asked("v1/history", **SHOWN, only=only)
    yield asked("v1/history", **SHOWN, only="unsure", below="0.75")
    for label, prediction, _ in (service.get("v1/confusion") or {"cells": []})["cells"][:MOST_CELLS]:
        yield asked("v1/history", **SHOWN, label=_text(label), prediction=_text(prediction))
    for entry in (service.get("v1/drifts") or {"entries": []})["entries"]:
        changed = entry.get("structure") or {}
        if changed.get("added") or changed.get("removed"):
            for graph in ("before", "after"):
                yield asked("v1/drifts/picture", number=str(entry["number"]), graph=graph)
    body: dict[str, Any] = {"evidence": {}}
    yield "v1/query", {"body": msgspec.json.encode(body).decode()}, service.post("v1/query", body)


def _text(value: Any) -> str:
    """Return a label as the page writes it: a browser has no other numbers than doubles, and 1.0 is "1"."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _page(name: str, content: Mapping[str, Any]) -> str:
    """Return the page as one file, with these answers."""
    html = (PAGE / "index.html").read_text("utf-8")
    styles = "\n".join(_read(path) for path in re.findall(r'<link rel="stylesheet" href="([\w./-]+)">', html))
    plain = "\n".join(_read(path) for path in re.findall(r'<script src="([\w./-]+)" defer></script>', html))
    modules = {f"page/{path.name}": path.read_text("utf-8") for path in sorted(PAGE.glob("*.js"))}
    modules["page/service.js"] = _read("report/service.js")
    addresses = {
        module: _address("text/javascript", re.sub(r'from "\./([\w-]+\.js)"', r'from "page/\1"', text))
        for module, text in modules.items()
    }
    body = html[html.index("<body>") :].replace("<body>", '<body class="report">')
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            "script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
            "form-action 'none'\">",
            f"<title>{_escaped(name)}</title>",
            f'<link rel="icon" href="{_address("image/svg+xml", _read("icon.svg"))}">',
            f"<style>{styles}</style>",
            f"<script>{plain}</script>",
            f'<script type="application/json" id="answers">{_json(content)}</script>',
            f'<script type="importmap">{_json({"imports": addresses})}</script>',
            '<script type="module">import "page/page.js";</script>\n</head>',
            body,
        ]
    )


def _read(path: str) -> str:
    return (PAGE / path).read_text("utf-8")


def _address(kind: str, text: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(text.encode()).decode()}"


def _json(content: Any) -> str:
    """Return JSON that ends no script."""
    return msgspec.json.encode(content).decode().replace("<", "\\u003c")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")

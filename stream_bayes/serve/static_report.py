"""A report of a service as one file: its page, with the answers that the service gave when the report was written.

The modules of the page are part of the file, each as the text of an address, by which the others import it. What asks
the service is replaced by what looks its answers up. The file loads nothing, and sends nothing.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from stream_bayes.errors import SourceError
from stream_bayes.serve.app import PAGE
from stream_bayes.serve.service_client import ServiceClient

__all__ = ["report_of"]

MOST_CELLS = 144  # of the confusion matrix whose events are part of a report
SHOWN = {"limit": "100", "format": "json"}  # events that the page shows at once
COSTS = {"missed": "1", "false_alarm": "1"}
NO_LABELS = "a report takes no labels; give them to the service"


def report_of(service: ServiceClient) -> str:
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


ServedFile = tuple[str, Mapping[str, str], Any]


def _answers(service: ServiceClient) -> Iterator[ServedFile]:
    """Yield all else that the page asks for, as it is opened and its cells are clicked."""

    def asked(path: str, **parameters: str) -> ServedFile:
        return path, parameters, service.get(path, parameters)

    for path in ("v1/services", "v1/evaluation/parts", "v1/drifts", "v1/confusion"):
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

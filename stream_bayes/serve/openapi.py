"""The OpenAPI description of the service, and a page that shows it without a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import msgspec

from stream_bayes._build import VERSION

__all__ = ["Operation", "described", "docs_page"]


@dataclass(frozen=True)
class Operation:
    """One method of one path."""

    method: str  # this and the next as HTTP has them
    path: str
    endpoint: Any  # answers requests
    summary: str  # one line
    body: type[Any] | None = None  # a struct, `bytes` for a raw mail, None without one


PARAMETERS = {
    "/v1/history": (
        ("limit", "integer", "the most events to return"),
        ("key", "string", "return the event with this key, whatever else is given"),
        ("only", "string", "right, wrong, waits (for its label) or unsure"),
        (
            "below",
            "number",
            "the probability of the prediction below which an event is unsure; 0.75 by default",
        ),
        ("label", "string", "events with this label; empty for those without one"),
        ("prediction", "string", "events with this prediction; empty for those without one"),
        ("text", "string", "events with this text in their key, features or headings"),
        ("format", "string", "json or csv"),
    ),
    "/v1/thresholds": (
        ("label", "string", "the label to decide for; by default the rarer of the two"),
        ("missed", "number", "the cost of missing an event with the label; 1 by default"),
        (
            "false_alarm",
            "number",
            "the cost of deciding for the label where it is the other one; 1 by default",
        ),
    ),
    "/v1/drifts/features": (
        ("against", "string", "first: the first events of the service; older: the older half of the history"),
    ),
    "/v1/learn": (("label", "string", "the label of a raw mail"),),
}
WRITES = ("/v1/labels", "/v1/learn")
PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}


def described(operations: Sequence[Operation], name: str) -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of operations.

    Examples
    --------
    >>> spec = described([Operation("GET", "/livez", None, "200 while the service runs")], "days")
    >>> list(spec["paths"]), spec["openapi"]
    (['/livez'], '3.1.0')
    """
    kinds = [each.body for each in operations if each.body not in (None, bytes)]
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schema_of = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, Any] = {}
    for each in operations:
        answers: dict[str, Any] = {
            "200": {"description": "The answer."},
            "default": {
                "description": "A problem (RFC 9457): what was expected, what came, what to do.",
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
            },
        }
        operation: dict[str, Any] = {
            "operationId": f"{each.method.lower()}_{each.path.strip('/').replace('/', '_')}",
            "summary": each.summary,
            "responses": answers,
        }
        if each.path in PARAMETERS:
            operation["parameters"] = [
                {"name": named, "in": "query", "description": text, "schema": {"type": kind}}
                for named, kind, text in PARAMETERS[each.path]
            ]
        if each.body is not None:
            content: dict[str, Any] = {}
            if each.body is not bytes:
                content["application/json"] = {"schema": schema_of[each.body]}
            if each.body is bytes or each.path == "/v1/learn":
                content["message/rfc822"] = {
                    "schema": {"type": "string", "contentMediaType": "message/rfc822"}
                }
            operation["requestBody"] = {"required": True, "content": content}
        if each.path in WRITES:
            operation["security"] = [{"token": []}]
        paths.setdefault(each.path, {})[each.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": f"stream_bayes: {name}", "version": VERSION},
        "paths": paths,
        "components": {
            "schemas": components | {"Problem": PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def docs_page(spec: dict[str, Any]) -> str:
    """Return the description as a page of HTML."""
    title = escape(spec["info"]["title"])
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{title}</title></head><body><main><h1>{title}</h1>",
        "<p>The same for programs: <a href='openapi.json'>openapi.json</a>. "
        "Writes need the header <code>Authorization: Bearer TOKEN</code>.</p>",
    ]
    for path, methods in spec["paths"].items():
        for method, operation in methods.items():
            parts.append(f"<h2><code>{method.upper()} {escape(path)}</code></h2>")
            parts.append(f"<p>{escape(operation['summary'])}.</p>")
            parts += [
                f"<p><code>?{escape(each['name'])}=</code> {escape(each['description'])}</p>"
                for each in operation.get("parameters", ())
            ]
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                name = content["schema"].get("$ref", "").rpartition("/")[2]
                schema = spec["components"]["schemas"].get(name, content["schema"])
                text = msgspec.json.format(msgspec.json.encode(schema), indent=2).decode()
                parts.append(f"<details><summary>{escape(kind)}</summary><pre>{escape(text)}</pre></details>")
    return "\n".join([*parts, "</main></body></html>"])

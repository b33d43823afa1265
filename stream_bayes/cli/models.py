"""`stream-bayes models`: what learns."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stream_bayes.cli.exits import telling_errors
from stream_bayes.cli.printing import JSON, print_json, print_table
from stream_bayes.errors import BadValue
from stream_bayes.learners.catalogue import LEARNERS, arguments_of, closest, summary_of
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.mail.making import FILTER, filter_arguments

__all__ = ["models"]


def models(
    name: Annotated[str | None, typer.Argument(help="One model, to see its arguments.")] = None,
    json: JSON = False,
) -> None:
    """List the models, or the arguments of one."""
    with telling_errors():
        known: dict[str, type[Any]] = {**LEARNERS, FILTER: SpamFilter}
        if name is not None and name not in known:
            raise BadValue(f"there is no model {name!r}{closest(name, known)} There are {', '.join(known)}")
        rows = [
            {
                "name": key,
                "class": made.__name__,
                "summary": summary_of(made),
                "arguments": filter_arguments() if key == FILTER else arguments_of(made),
            }
            for key, made in known.items()
            if name in (None, key)
        ]
        if json:
            print_json(rows)
            return
        shown = ("name", "summary") if name is None else ("name", "summary", "arguments")
        for row in rows:
            row["arguments"] = ", ".join(row["arguments"])
        print_table("models", [{key: row[key] for key in shown} for row in rows])

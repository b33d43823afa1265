"""`stream-bayes models`: the models and their arguments."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, print_json, print_table

__all__ = ["models"]


def models(
    name: Annotated[str | None, typer.Argument(help="A model, to list its arguments.")] = None,
    json: JSON = False,
) -> None:
    """List the models, or the arguments of one model."""
    from stream_bayes.checked_names import check_known
    from stream_bayes.learners.base.parameters import parameters_of
    from stream_bayes.learners.catalogue import LEARNERS, REGRESSORS
    from stream_bayes.learners.factory import arguments_of, summary_of
    from stream_bayes.streams.served_models.product_models import MODELS

    with exit_on_error():
        products = dict(MODELS)
        by_name: dict[str, type[Any]] = {
            **LEARNERS,
            **REGRESSORS,
            **{each.name: each.model for each in products.values()},
        }
        if name is not None:
            check_known("model", name, by_name)
        classes: dict[str, type[Any]] = {made.__name__: made for made in by_name.values()}
        classes |= {made.__name__: made for each in products.values() for made in each.described_in}
        rows: list[dict[str, Any]] = []
        for key, made in by_name.items():
            if name not in (None, key):
                continue
            taken = products[key].arguments() if key in products else arguments_of(made)
            parameters = [each._asdict() for each in parameters_of(made, classes) if each.name in taken]
            rows.append(
                {"name": key, "class": made.__name__, "summary": summary_of(made), "arguments": taken}
                | {"parameters": parameters}
            )
        if json:
            print_json(rows)
        elif name is None:
            print_table("models", [{part: row[part] for part in ("name", "summary")} for row in rows])
        else:
            (row,) = rows
            shown = [
                {
                    "argument": each["name"],
                    "default": each["default"],
                    "meaning": each["meaning"].replace("`", ""),
                }
                for each in row["parameters"]
            ]
            print_table(f"{name}: {row['summary']}", shown)
            typer.echo("Set them with --arg NAME=VALUE, or in a pipeline file under [model] arguments.")

"""`stream-bayes follow`: predictions from the model that workers publish."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, print_json

__all__ = ["follow"]


def follow(
    pipeline: Annotated[
        str, typer.Argument(help="Pipeline file (TOML), or name of a pipeline.", show_default=False)
    ],
    servers: Annotated[
        str | None, typer.Option(help="Brokers of a pipeline given by its name.", metavar="HOST:PORT")
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="Save the present model to this file, and exit.")
    ] = None,
    json: JSON = False,
) -> None:
    """Follow the model of a pipeline with [workers]: read JSON objects from stdin, and print a prediction for each."""
    import msgspec

    from stream_bayes.errors import BadValue
    from stream_bayes.saving.model_files import save as save_model
    from stream_bayes.streams.files.json_sink import json_bytes
    from stream_bayes.workers.follower import follow as following

    with exit_on_error(), following(pipeline, servers=servers) as model:
        if save is not None:
            save_model(model.model, save)
            if json:
                print_json({"records": model.events, "age_seconds": model.age, "file": str(save)})
            else:
                typer.echo(f"{model.events:,} records, {model.age:.1f} seconds old, saved to {save}")
            return
        for number, line in enumerate(sys.stdin, 1):
            if not line.strip():
                continue
            try:
                x = msgspec.json.decode(line, type=dict)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise BadValue(
                    f"line {number} of stdin: expected a JSON object, got {line[:80]!r}: {error}"
                ) from error
            answer = {"prediction": model.predict_one(x)}
            if model.predicts_numbers:
                answer |= zip(("low", "high"), model.predict_interval_one(x), strict=True)
            else:
                answer["probabilities"] = {
                    label if isinstance(label, str) else json_bytes(label).decode(): p
                    for label, p in model.predict_proba_one(x).items()
                }
            sys.stdout.buffer.write(json_bytes(answer) + b"\n")
            sys.stdout.buffer.flush()

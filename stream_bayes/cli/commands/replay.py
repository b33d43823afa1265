"""`stream-bayes replay`: a data file through a model, without a pipeline file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from stream_bayes.cli.arguments import learner_arguments
from stream_bayes.cli.commands.run import run_engine, size_of
from stream_bayes.cli.data_file import DataOptions, File, Target, label_amount, named_targets, open_table
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.networks import check_target
from stream_bayes.cli.output import JSON, note
from stream_bayes.cli.service import ServeOptions, service_of
from stream_bayes.cli.tasks import is_regressor
from stream_bayes.drift.detectors import DETECTORS
from stream_bayes.errors import BadValue
from stream_bayes.learners.catalogue import DEFAULT, NETWORK, SEVERAL_TARGETS
from stream_bayes.networks.growth import LEARN
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.sources.paced import Paced

__all__ = ["replay"]

ADAPTED = "nb"  # the default of a replay with a detector: the other default adapts itself


def replay(
    file: File,
    *,
    target: Target = None,
    model: Annotated[
        str | None,
        typer.Option(
            help=f"Model to train; `stream-bayes models` lists them. Default: {DEFAULT}, with --drift {ADAPTED}."
        ),
    ] = None,
    arg: Annotated[
        list[str], typer.Option("--arg", help="Argument of the model, as NAME=VALUE. Repeatable.")
    ] = [],
    drift: Annotated[
        str | None,
        typer.Option(help="Adapt to drift that this detector finds: " + ", ".join(DETECTORS) + "."),
    ] = None,
    drift_arg: Annotated[
        list[str],
        typer.Option("--drift-arg", help="Setting of the drift handling, as NAME=VALUE. Repeatable."),
    ] = [],
    drift_log: Annotated[
        Path | None, typer.Option(help="Write the drift log to this file, as JSON lines.")
    ] = None,
    predict: Annotated[
        list[str],
        typer.Option(
            "--predict",
            help="Variable to predict without --target, or as sky@+2 two events later. Repeatable.",
        ),
    ] = [],
    options: DataOptions,
    speed: Annotated[
        float | None, typer.Option(help="Replay at this multiple of the original speed; needs --time.")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Write the predictions to this file, as JSON lines.")
    ] = None,
    snapshots: Annotated[
        Path | None, typer.Option(help="Keep snapshots in this directory; the next run resumes from them.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Stop after this many records.", min=0)] = None,
    serve: ServeOptions,
    json: JSON = False,
) -> None:
    """Predict each event of a file, then learn it, and report the accuracy of the predictions.

    Without --target, a bayes-net scores each event: its mean surprise is in nats an event. So do mixed-network,
    latent-class, dynamic-network, markov-chain and hidden-markov, for numbers and for events in time.
    """
    with exit_on_error():
        named = named_targets(target)
        check_target(file, named, [model or ""], options, runs=True)
        arguments = learner_arguments(arg)
        default = LEARN if model == NETWORK else None
        structure = arguments.pop("structure", default) if named is None else None
        if speed is not None and options.time is None:
            raise BadValue("--speed needs --time, the column with the event time")
        table: dict[str, Any] = {
            "name": file.name.split(".")[0] or "replay",
            "source": {
                "kind": "csv",
                "path": str(file),
                **({} if named is None else {"target": named}),
            },  # its roles; the file is opened below
            "model": {
                "kind": model
                or (SEVERAL_TARGETS if len(target or ()) > 1 else DEFAULT if drift is None else ADAPTED),
                "arguments": arguments,
                "predict": predict,
            },
        }
        if drift is not None:
            table["drift"] = {"detector": drift, "arguments": learner_arguments(drift_arg, "--drift-arg")}
            if drift_log is not None:
                table["drift"]["log"] = str(drift_log)
        elif drift_arg or drift_log is not None:
            raise BadValue("--drift-arg and --drift-log need --drift, the detector to use")
        if predictions is not None:
            table["predictions"] = {"kind": "jsonl", "path": str(predictions)}
        if snapshots is not None:
            table["snapshots"] = {"directory": str(snapshots)}
        if isinstance(structure, str):
            table["model"]["structure"] = structure
        elif structure is not None:
            arguments["structure"] = structure
        config = checked(table)
        opened = open_table(file, named, options)
        for_numbers = is_regressor(config.model.kind)
        note([*opened.described(), *opened.warnings(for_numbers=for_numbers)], quiet=json)
        with closing(opened.source):
            paced = opened.source if speed is None else Paced(opened.source, speed)
            amounts = {
                name: label_amount(opened, name) for name in opened.all_targets if name in opened.profiles
            }
            written = amounts if opened.targets else next(iter(amounts.values()), None)
            engine = build(config, source=paced, schema=opened.schema, written=written)
            settings = serve.with_service(config).serve
            if settings is None:
                run_engine(engine, size_of(file), limit, json)
                return
            with service_of(engine, settings, quiet=json, lasts=True) as service:
                run_engine(engine, size_of(file), limit, json)
                service.finish()

"""Starting the service beside a running engine."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream_bayes._build import install_command
from stream_bayes.errors import BadConfig, MissingPackage
from stream_bayes.serve.channel import Channel
from stream_bayes.serve.handover import Handover
from stream_bayes.serve.labels import LabelSink, label_sink, reason_for_no_labels
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import PipelineConfig, ServeConfig
from stream_bayes.streams.served_models.product_models import product_model_of

__all__ = ["ServiceAddress", "make_token", "serve_engine"]

logger = logging.getLogger(__name__)

STOP_SECONDS = 5.0


@dataclass(frozen=True)
class ServiceAddress:
    """The address of a service."""

    url: str  # of its page
    port: int
    handover: Handover  # hands over what the engine does


def make_token() -> str:
    """Return a new random token."""
    return secrets.token_urlsafe(24)


def check_installed() -> None:
    """Raise `MissingPackage` unless the extra `serve` is installed."""
    try:
        import starlette  # noqa: F401  # only whether it is installed
        import uvicorn  # noqa: F401  # only whether it is installed
    except ImportError as error:
        raise MissingPackage(
            f"the service needs starlette and uvicorn; install them with: {install_command('serve')}"
        ) from error


@contextmanager
def serve_engine(
    engine: Engine,
    table: ServeConfig,
    config: PipelineConfig | None = None,
    directory: Path = Path(),
    *,
    token: str | None = None,
) -> Iterator[ServiceAddress]:
    """Serve an engine over HTTP inside a `with` block, from a process of its own. The engine has not run yet; `table`
    has the settings of the service. `config` is the pipeline file, if the engine was built from one: without it the
    service takes no labels. Paths in it are relative to `directory`. `token` is one for writes in place of the
    settings' own.

    Raises
    ------
    BadConfig
        If the address cannot be listened at.
    MissingPackage
        If the extra `serve` is not installed.
    """
    check_installed()
    from stream_bayes.door.http_server import listen

    try:
        line = listen(table.host, table.port)
    except OSError as error:
        raise BadConfig(
            f"serve: {table.host}:{table.port} cannot be listened on: {error.strerror or error}; give another port"
        ) from error
    port = int(line.getsockname()[1])
    one, other = socket.socketpair()
    process = _start(other, line)
    other.close()
    line.close()
    channel = Channel(one)
    handover = None
    try:
        keep = table.history.keep
        if keep is None:
            keep = ["features"] if product_model_of(engine.step.model.model) is None else []
        open_labels: Callable[[], LabelSink] | None = (
            None if config is None else label_sink(config, directory)
        )
        channel.send(_hello(engine, table, config, token))
        handover = Handover(engine, channel, open_labels, keep)
        host = f"[{table.host}]" if ":" in table.host else table.host
        yield ServiceAddress(f"http://{host}:{port}/", port, handover)
    finally:
        if handover is not None:
            handover.close()
        else:
            channel.close()
        _stop(process)


def _start(channel: socket.socket, line: socket.socket) -> subprocess.Popen[bytes]:
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    numbers = [channel.fileno(), line.fileno()]
    return subprocess.Popen(
        [sys.executable, "-m", "stream_bayes.serve", *map(str, numbers)],
        pass_fds=numbers,
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C ends the engine, and its end the service
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Wait for the process, which ends with its channel."""
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _hello(
    engine: Engine, table: ServeConfig, config: PipelineConfig | None, token: str | None
) -> dict[str, Any]:
    """Return all that the service's process needs. It crosses the pair of sockets, and no command line."""
    model = engine.step.model
    product = product_model_of(model.model)
    no_labels = "this stream has no pipeline file, and so no place for labels"
    return {
        "what": "hello",
        "name": engine.step.name,
        "key": None if product is None else product.key_of(model.model),
        "history_events": table.history.events,
        "others": [
            (other.url, None if other.read_token is None else other.read_token.get_secret_value())
            for other in table.others
        ],
        "models": [] if config is None else _model_tables(config),
        "traits": {
            "name": engine.step.name,
            "no_labels": no_labels if config is None else reason_for_no_labels(config),
            "no_corrections": model.unlearning_fault(is_read_again=False),
            "settings": model.settings(),
            "target": None if config is None else config.source.target,
        },
        "limits": {
            "token": token or (None if table.token is None else table.token.get_secret_value()),
            "read_token": None if table.read_token is None else table.read_token.get_secret_value(),
            "hosts": table.hosts,
            "proxies": table.proxies,
            "host": table.host,
            "max_body_bytes": table.max_body_bytes,
            "max_requests": table.max_requests,
            "seconds": table.seconds,
        },
    }


def _model_tables(config: PipelineConfig) -> list[tuple[str | None, dict[str, Any]]]:
    """Return the part of a pipeline file that makes its model, and that of each challenger, by name."""
    configs: list[tuple[str | None, PipelineConfig]] = [(None, config)]
    configs += [(each.name, config.challenging(each.name)) for each in config.challengers]
    return [
        (name, _model_table(of_model))
        for name, of_model in configs
        if of_model.transformers or of_model.model.rule() is not None
    ]


def _model_table(config: PipelineConfig) -> dict[str, Any]:
    """Return the part of a pipeline file that makes a model with transformers; others are restored without it."""
    table: dict[str, Any] = {
        "name": config.name,
        "source": {"kind": "jsonl", "path": "unused.jsonl", "target": config.source.target},
        "model": config.model.model_dump(mode="json", exclude={"key"}),
        "transformers": [part.model_dump(mode="json") for part in config.transformers],
    }
    if config.drift is not None:
        table["drift"] = config.drift.model_dump(mode="json", exclude={"log"})
    return table

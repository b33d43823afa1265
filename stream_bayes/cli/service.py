"""The service of a command that runs an engine: `[serve]` of a pipeline file, and the option `--serve`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from stream_bayes.cli.output import note
from stream_bayes.errors import BadValue
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import PipelineConfig, ServeConfig
from stream_bayes.streams.service.signals import stopping_on_signals

__all__ = ["RunningService", "ServeOptions", "service_of", "wait_for_signal"]


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The options that start the service for a command."""

    is_wanted: Annotated[
        bool,
        typer.Option(
            "--serve", help="Serve predictions and a page over HTTP, also after the end, until Ctrl-C."
        ),
    ] = False
    port: Annotated[
        int | None, typer.Option(help="Port of --serve; 0 takes a free one.", min=0, max=65535)
    ] = None

    def check(self) -> None:
        """Raise `BadValue` for a port without `--serve`."""
        if self.port is not None and not self.is_wanted:
            raise BadValue("--port needs --serve; a pipeline file names its port in [serve]")

    def with_service(self, config: PipelineConfig) -> PipelineConfig:
        """Return the configuration with the requested service."""
        self.check()
        if not self.is_wanted:
            return config
        table = config.serve or ServeConfig.model_validate({})
        if self.port is not None:
            table = table.model_copy(update={"port": self.port})
        return config.model_copy(update={"serve": table})


class RunningService:
    """The service of a command. `hand_over_last` hands over the last status and view. `page` is the address with the
    token that was made for this run. With `lasts`, it goes on serving after the end. With `quiet`, nothing is printed.
    """

    def __init__(
        self, hand_over_last: Callable[[], None], url: str, page: str, lasts: bool, quiet: bool
    ) -> None:
        self._hand_over_last = hand_over_last
        self.url = url
        self.page = page
        self._lasts = lasts
        self._quiet = quiet

    def finish(self) -> None:
        """Show the end of the run; go on serving until a signal comes, if that is wanted."""
        self._hand_over_last()
        if self._lasts:
            note([f"the stream has ended; {self.url} goes on serving, until Ctrl-C"], quiet=self._quiet)
            wait_for_signal()


@contextmanager
def service_of(
    engine: Engine,
    table: ServeConfig,
    config: PipelineConfig | None = None,
    directory: Path = Path(),
    *,
    quiet: bool = False,
    lasts: bool = False,
) -> Iterator[RunningService]:
    """Serve an engine inside a `with` block; print the address and, if it was made for this run, the token."""
    # Imported on use: a run without a service does not load it.
    from stream_bayes.serve.launch import make_token, serve_engine

    token = make_token() if lasts and table.token is None and not quiet else None
    with serve_engine(engine, table, config, directory, token=token) as served:
        page = served.url if token is None else f"{served.url}#token={token}"
        note([f"serving {page}"], quiet=quiet)
        yield RunningService(served.handover.finish, served.url, page, lasts, quiet)


def wait_for_signal() -> None:
    """Return at SIGTERM or Ctrl-C."""
    stopped = Event()
    with stopping_on_signals(stopped.set):
        while not stopped.wait(0.5):  # signals are handled between two waits
            pass

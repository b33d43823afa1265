"""`stream-bayes demo`: a made-up stream that drifts and a filter of made-up mails, live in a browser."""

from __future__ import annotations

import json
import os
import random
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Annotated, TextIO

import typer

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import note
from stream_bayes.cli.service import service_of
from stream_bayes.errors import BadValue
from stream_bayes.private_files import open_private
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.service.signals import stopping_on_signals

__all__ = ["demo"]

SEASON = 4000  # days between two changes of the weather
WEATHER = """
name = "weather"
source = { kind = "jsonl", path = "weather.jsonl", target = "rain", key = "day", follow = true }
model = { kind = "tan" }
drift = { detector = "adwin" }
labels = { most_correctable = 5000 }
snapshots = { directory = "weather-state", every_seconds = 10.0 }
batch = 100
[[challengers]]
name = "naive-bayes"
kind = "nb"
[schema.features]
sky = "nominal"
wind = "nominal"
season = "nominal"
pressure = "nominal"
"""
MAILS = """
name = "mails"
source = { kind = "jsonl", path = "mails.jsonl", target = "label", key = "id", follow = true }
model = { kind = "spam-filter" }
labels = { most_correctable = 5000 }
snapshots = { directory = "mails-state", every_seconds = 10.0 }
batch = 20
[serve.history]
keep = ["features", "subject", "sender"]
"""


def demo(
    into: Annotated[
        Path | None,
        typer.Option(help="Directory for the streams and their state; a temporary one if not given."),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            help="Port of the page of the stream; the page of the mails takes the next one. 0 takes free ones.",
            min=0,
        ),
    ] = 8080,
    rate: Annotated[
        float,
        typer.Option(
            help="Events of the stream per second (an event is a day of weather); mails come at a tenth of this.",
            min=1.0,
        ),
    ] = 200.0,
    seconds: Annotated[float | None, typer.Option(help="Stop after this number of seconds.", min=0.0)] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the addresses.")] = False,
) -> None:
    """Show a stream that drifts and a spam filter live, each on a page of its own, until Ctrl-C."""
    with exit_on_error(), ExitStack() as around:
        if into is None:
            into = Path(around.enter_context(TemporaryDirectory(prefix="stream-bayes-")))
        into.mkdir(parents=True, exist_ok=True)
        if any(into.glob("*.jsonl")):
            raise BadValue(f"{into} holds streams already; give an empty directory")
        stopped = Event()
        streams = (
            ("weather", WEATHER, weather_lines(), rate, port),
            ("mails", MAILS, mail_lines(), rate / 10.0, port + 1 if port else 0),
        )
        threads: list[Thread] = []
        engines: list[Engine] = []
        for name, text, lines, per_second, own_port in streams:
            file = around.enter_context(
                os.fdopen(open_private(into / f"{name}.jsonl"), "w", encoding="utf-8")
            )
            for _ in range(50):
                file.write(next(lines))
            file.flush()
            config = parse_config(text)
            table = f"{text}\n" if config.serve is not None else f"{text}\n[serve]\n"
            config = parse_config(table)
            assert config.serve is not None
            settings = config.serve.model_copy(update={"port": own_port})
            engine = build(config.model_copy(update={"serve": settings}), into)
            service = around.enter_context(service_of(engine, settings, config, into, lasts=True))
            if not no_browser:
                webbrowser.open(service.page)
            engines.append(engine)
            threads += [
                Thread(target=write_lines, args=(file, lines, per_second, stopped)),
                Thread(target=engine.run),
            ]
        note(["Ctrl-C ends the demo"])
        for thread in threads:
            thread.start()
        try:
            with stopping_on_signals(stopped.set):
                stopped.wait(seconds)
        finally:
            stopped.set()
            for engine in engines:
                engine.stop()
            for thread in threads:
                thread.join()


def weather_lines() -> Iterator[str]:
    """Yield days as lines of JSON. Every few thousand days the rain depends on another feature."""
    rng = random.Random(7)
    for day in count():
        sky = rng.choice(("grey", "white", "blue"))
        wind = rng.choice(("west", "east", "calm"))
        pressure = "low" if rng.random() < (0.8 if sky == "grey" else 0.3) else "high"
        season = ("spring", "summer", "autumn", "winter")[day // 200 % 4]
        sign = (sky == "grey", wind == "west", pressure == "low" and sky != "blue")[day // SEASON % 3]
        rain = sign is (rng.random() < 0.92)
        values = {"sky": sky, "wind": wind, "season": season, "pressure": pressure}
        yield json.dumps({"day": f"d{day}", **values, "rain": "yes" if rain else "no"}) + "\n"


def mail_lines() -> Iterator[str]:
    """Yield made-up mails as lines of JSON, with their labels."""
    from stream_bayes.testing.mails import made_up_mails

    for number, (raw, label) in enumerate(made_up_mails(1_000_000)):
        yield json.dumps({"id": f"mail-{number}", "text": raw.decode("latin-1"), "label": label}) + "\n"


def write_lines(file: TextIO, lines: Iterator[str], per_second: float, stopped: Event) -> None:
    """Write lines at a rate until the demo ends."""
    pause = max(0.02, 1.0 / per_second)
    while not stopped.wait(pause):
        file.writelines(next(lines) for _ in range(max(1, round(per_second * pause))))
        file.flush()

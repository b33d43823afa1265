"""The service's process: `python -m stream_bayes.serve CHANNEL LISTENER`, started by a pipeline.

Both arguments are file descriptors. The process ends when the channel does.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import Any

from stream_bayes.door.http_server import make_server, serve_until
from stream_bayes.door.request_checks import Door, ServiceLimits
from stream_bayes.errors import StreamBayesError
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.serve.app import ACCESS, Service, ServiceAbilities
from stream_bayes.serve.channel import Channel
from stream_bayes.serve.restoring import view_of
from stream_bayes.serve.status_board import Board

logger = logging.getLogger("stream_bayes.serve")

NICENESS = 5  # the stream goes first
SWITCH_SECONDS = 0.001  # a view that is loaded must not hold up answers


def main(channel_number: int, listener_number: int) -> None:
    """Serve what comes over the channel."""
    os.nice(NICENESS)
    sys.setswitchinterval(SWITCH_SECONDS)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard < 4096 else max(soft, 4096), hard))
    channel = Channel(socket.socket(fileno=channel_number))
    hello = channel.receive()
    if hello is not None:
        asyncio.run(serve(channel, socket.socket(fileno=listener_number), hello))


async def serve(channel: Channel, line: socket.socket, hello: Mapping[str, Any]) -> None:
    """Run the service until the channel ends."""
    board = Board(hello["name"], hello["history_events"], _sending(channel))
    door = Door(ServiceLimits(**hello["limits"]), access=ACCESS)
    service = Service(board, ServiceAbilities(**hello["traits"]), door, others=hello["others"])
    loop = asyncio.get_running_loop()
    receiver = Thread(
        target=_receive_all, args=(channel, board, loop, Models(hello["models"]), hello["key"]), daemon=True
    )
    receiver.start()
    await serve_until(make_server(service.app, door), line, lambda: not receiver.is_alive(), board.end)


def _sending(channel: Channel) -> Callable[[Mapping[str, Any]], None]:
    def send(message: Mapping[str, Any]) -> None:
        with suppress(OSError):  # at a closed line the receiver ends, too
            channel.send(dict(message))

    return send


def _receive_all(
    channel: Channel,
    board: Board,
    loop: asyncio.AbstractEventLoop,
    models: Models,
    key: bytes | None,
) -> None:
    """Pass messages on to the board. Views are loaded here, outside of the event loop."""
    while (message := channel.receive()) is not None:
        try:
            if message["what"] == "view":
                name = message["of"]
                made = view_of(
                    Snapshot.from_bytes(message["snapshot"]),
                    models.maker(name),
                    generation=message["generation"],
                    moment=message["time"],
                    key=key,
                    decide=models.decision(name),
                )
                if name is None:
                    loop.call_soon_threadsafe(board.show, *made)
                else:
                    loop.call_soon_threadsafe(board.show_challenger, name, *made)
            else:
                loop.call_soon_threadsafe(board.apply, message)
        except StreamBayesError as error:
            board.problem = str(error)
            logger.warning("a view could not be loaded: %s", error)
        except RuntimeError:
            return  # the loop is closed


class Models:
    """The parts of a pipeline file that its model and its challengers are made of, by name; None is the model. `tables`
    is `[[name, table], ...]`: a pipeline file with what makes the model, as `model_table` returns it.
    """

    def __init__(self, tables: Sequence[Sequence[Any]]) -> None:
        from stream_bayes.streams.pipelines.config import checked

        self._configs = {name: checked(table) for name, table in tables}

    def maker(self, name: str | None) -> Callable[[], Any] | None:
        """Return the function that makes a model as the pipeline does; None if its state is enough."""
        config = self._configs.get(name)
        if config is None:
            return None
        from stream_bayes.streams.pipelines.pipeline import make_model

        return lambda: make_model(config, None)

    def decision(self, name: str | None) -> Callable[[Mapping[Any, float]], Any] | None:
        """Return the decision of the rule in the pipeline file; None without a rule."""
        config = self._configs.get(name)
        rule = None if config is None else config.model.rule()
        return None if rule is None else rule.decide


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

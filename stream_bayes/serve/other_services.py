"""The other services that a page shows beside its own: this service asks them, so that no page asks across origins."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from stream_bayes.errors import StreamBayesError
from stream_bayes.serve.service_client import ServiceClient

__all__ = ["OtherServices"]

SECONDS = 2.0  # for an answer
MOST_BYTES = 4 << 20
FRESH_SECONDS = 2.0  # in which the answers are not asked for again
WORKERS = 4


class OtherServices:
    """The status of other services, each with its address and a token for reads or None. They are asked while somebody
    looks, at most every two seconds, and one that does not answer is shown with the reason.
    """

    def __init__(self, addresses: Sequence[tuple[str, str | None]]) -> None:
        self._services = [
            (address, ServiceClient(address, token, SECONDS, MOST_BYTES)) for address, token in addresses
        ]
        self._asked: asyncio.Task[list[dict[str, Any]]] | None = None
        self._since = float("-inf")
        self._workers = ThreadPoolExecutor(WORKERS, "others")

    async def statuses(self) -> list[dict[str, Any]]:
        """Return the name, address and status of each; requests at the same time share one round of answers."""
        if not self._services:
            return []
        if self._asked is None or (self._asked.done() and time.monotonic() - self._since >= FRESH_SECONDS):
            self._since = time.monotonic()
            self._asked = asyncio.create_task(self._ask())
        return await asyncio.shield(self._asked)

    async def _ask(self) -> list[dict[str, Any]]:
        loop = asyncio.get_running_loop()
        asked = (loop.run_in_executor(self._workers, _status, *each) for each in self._services)
        return list(await asyncio.gather(*asked))

    def close(self) -> None:
        """End without waiting for answers."""
        self._workers.shutdown(wait=False, cancel_futures=True)


def _status(address: str, service: ServiceClient) -> dict[str, Any]:
    try:
        answer = service.get("v1/status")
    except StreamBayesError as error:
        return {"address": address, "name": None, "status": {}, "problem": str(error)}
    if not isinstance(answer, dict) or not isinstance(answer.get("status"), dict):
        problem = f"{address} has no v1/status: it is no service of stream_bayes, or an older one"
        return {"address": address, "name": None, "status": {}, "problem": problem}
    return {"address": address, "name": str(answer.get("name")), "status": answer["status"], "problem": None}

"""How the processes that run the tests share them: those of Kafka go to one, so that one broker is enough."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

KAFKA = "tests/kafka/"


class Sharing(LoadScopeScheduling):  # type: ignore[misc]  # the package brings no types
    """One test at a time, but all of Kafka together.

    By the names of tests alone: the groups that pytest-xdist marks tests with are not seen by pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        return KAFKA if nodeid.startswith(KAFKA) else nodeid

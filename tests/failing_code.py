"""Functions that fail as if they stood in a module of another name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["in_module"]

BODY = """
def fail(*arguments, **settings):
    return step()
"""


def in_module(name: str, step: Callable[[], Any]) -> Callable[..., Any]:
    """Return a function of a module of that name, which calls `step` whatever its arguments are."""
    module: dict[str, Any] = {"__name__": name, "step": step}
    exec(BODY, module)  # noqa: S102  (its globals must have another name)
    fail: Callable[..., Any] = module["fail"]
    return fail

"""The memory of a worker's sum against its budget."""

from __future__ import annotations

from collections.abc import Iterable

from stream_bayes.errors import BudgetExceeded

__all__ = ["check_budget"]

SHOWN = 3  # names in an error


def check_budget(budget: int | None, taken: int, shards: int, sizes: Iterable[tuple[str, int]]) -> None:
    """Raise `BudgetExceeded` if the counts of all shards and their sum take more than the budget. A budget of None has
    no limit. `shards` is the number of shards with counts. `sizes` says what takes the memory: names, and the number of
    values of each. The largest ones are named.

    Examples
    --------
    >>> check_budget(1000, 2000, 4, [("sky", 3), ("user", 900)])
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BudgetExceeded: the counts of 4 shards and their sum take 2,000 bytes, more than ...
    """
    if budget is None or taken <= budget:
        return
    largest = sorted(sizes, key=lambda size: -size[1])[:SHOWN]
    named = ", ".join(f"{name} ({values:,} values)" for name, values in largest)
    raise BudgetExceeded(
        f"the counts of {shards} shards and their sum take {taken:,} bytes, more than "
        f"workers.memory_budget={budget:,}. Most is in {named}: leave such features out, use fewer shards, or raise "
        "the budget"
    )

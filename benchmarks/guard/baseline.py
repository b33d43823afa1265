"""Baselines: the instructions of each path in each environment that somebody counted in, in `baseline.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["ALLOWED", "FILE", "differences", "read", "renew", "slips"]

FILE = Path(__file__).with_name("baseline.json")
ALLOWED = 0.03  # of the baseline's instructions

Environment = Mapping[str, str]


def read(file: Path) -> list[dict[str, Any]]:
    """Return the baselines of a file, each with its `environment` and its `instructions`."""
    entries: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return entries


def renew(file: Path, environment: Environment, counts: Mapping[str, int]) -> None:
    """Write the counts in place of those of the same environment, beside those of others."""
    others = [entry for entry in read(file) if entry["environment"] != environment]
    entry = {"environment": dict(environment), "instructions": dict(counts)}
    file.write_text(json.dumps([*others, entry], indent=1) + "\n", encoding="utf-8")


def differences(ours: Environment, other: Environment) -> list[str]:
    """Return what differs between two environments, a line each."""
    return [
        f"{key}: {ours.get(key, 'none')} here, {other.get(key, 'none')} in the baseline"
        for key in dict.fromkeys([*ours, *other])
        if ours.get(key) != other.get(key)
    ]


def slips(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, str]:
    """Return what is wrong with each path that takes too many instructions, or has no baseline."""
    wrong = {}
    for name, count in now.items():
        if name not in before:
            wrong[name] = f"{name}: there is no baseline"
        elif count > (1.0 + ALLOWED) * before[name]:
            share = count / before[name] - 1.0
            wrong[name] = f"{name}: {share:+.1%} instructions, of which {ALLOWED:.0%} are allowed"
    return wrong

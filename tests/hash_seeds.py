"""Programs under several hash seeds: other seeds put sets in another order, and must change nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["printed_with"]

ROOT = Path(__file__).parents[1]


def printed_with(seed: int, code: str) -> bytes:
    """Return what a program prints in a process with a hash seed."""
    environment = os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, check=True
    ).stdout

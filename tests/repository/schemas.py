"""Files checked against the schemas that come with check-jsonschema."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["follows_schema"]


def follows_schema(schema: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Return the finished check: exit code 0 if the file follows the schema, otherwise the faults in `stdout`."""
    return subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

"""The software bill of materials: the package and what it needs, from the metadata of what is installed.

Prints CycloneDX 1.5 as JSON. Runs with Python alone, so that the image lists itself: `python make_sbom.py [EXTRA ...]`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

PACKAGE = "stream_bayes"
EXTRAS = ("fast",)
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:\[([^]]*)\])?")
EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")


def canonical(name: str) -> str:
    """Return the name of a package as registries spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(name: str, extras: Iterable[str]) -> dict[str, Distribution]:
    """Return a package and all that it needs with these extras, as far as it is installed, by name.

    What is not installed is for another platform, or of another extra: what cannot be imported is not part of it.
    """
    parts: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(name, extra) for extra in ("", *extras)]
    while waiting:
        name, wanted = waiting.pop()
        name = canonical(name)
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        try:
            part = parts[name] = distribution(name)
        except PackageNotFoundError:
            continue
        for requirement in part.requires or ():
            text, _, marker = requirement.partition(";")
            extra = EXTRA.search(marker)
            if (extra[1] if extra else "") != wanted:
                continue
            needed = REQUIREMENT.match(text.strip())
            assert needed is not None, requirement
            waiting += [(needed[1], each.strip()) for each in ("", *(needed[2] or "").split(","))]
    return parts


def component(part: Distribution) -> dict[str, Any]:
    """Return a package as a component."""
    name, version = canonical(part.metadata["Name"]), part.version
    text = part.metadata.get("License-Expression") or part.metadata.get("License") or ""
    short = text.strip().splitlines()[0][:80] if text.strip() else ""
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        **({"licenses": [{"license": {"name": short}}]} if short else {}),
    }


def bill(extras: Iterable[str] = EXTRAS) -> dict[str, Any]:
    """Return the bill of the package with these extras. It is the same for the same packages, so it has no time."""
    parts = installed(PACKAGE, extras)
    own = parts.pop(canonical(PACKAGE))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(own) | {"type": "application"}},
        "components": [component(part) for _, part in sorted(parts.items())],
    }


if __name__ == "__main__":
    json.dump(bill(sys.argv[1:] or EXTRAS), sys.stdout, indent=1)
    sys.stdout.write("\n")

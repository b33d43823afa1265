"""docs/coming-from.md names calls by which users of other tools find ours: each of them exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import stream_bayes
from stream_bayes import networks, streams
from stream_bayes.networks import BayesNet, DynamicNetwork, InfluenceDiagram, Structure

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"
SECTIONS = ("pgmpy", "pyAgrum", "bnlearn", "GeNIe and BayesiaLab")
OWNERS = {
    "model": (BayesNet, DynamicNetwork),
    "structure": (Structure,),
    "diagram": (InfluenceDiagram,),
    "streams": (streams,),
}


def calls(section: str) -> list[str]:
    """Return the code of the right column of a section's tables."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = [line.split(" | ")[-1] for line in text.splitlines() if line.startswith("| ")][1:]
    return [code for row in rows for code in re.findall(r"`([^`]+)`", row)]


@pytest.mark.parametrize("section", SECTIONS)
def test_every_call_that_a_newcomer_is_told_of_exists(section: str) -> None:
    found = 0
    for code in calls(section):
        for owner, name in re.findall(r"\b(model|structure|diagram|streams)\.(\w+)", code):
            assert any(hasattr(each, name) for each in OWNERS[owner]), code
            found += 1
        for name in re.findall(r"(?<![\w.])([A-Za-z_]\w+)\(", code):
            assert hasattr(networks, name) or hasattr(stream_bayes, name), code
            found += 1
    assert found > 10

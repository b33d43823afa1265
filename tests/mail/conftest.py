"""The directory of a trained filter, a copy for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stream_bayes.mail.store.home import SpamHome


@pytest.fixture
def home(trained: Path, tmp_path: Path) -> SpamHome:
    """Copy what the module's own fixture `trained` made once."""
    shutil.copytree(trained, tmp_path / "home")
    return SpamHome(tmp_path / "home")

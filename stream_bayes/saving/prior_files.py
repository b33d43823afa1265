"""Priors in files: a saved model, or tables written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stream_bayes.errors import BadValue, StreamBayesError
from stream_bayes.learners.base.prior_tables import PriorTables
from stream_bayes.saving.model_files import load_answering, load_learner

__all__ = ["PRIOR_WEIGHT", "add_prior_of_file"]

PRIOR_WEIGHT = 50.0  # samples


def add_prior_of_file(learner: Any, path: Path, weight: float | None = None) -> None:
    """Add the counts of a saved model, or of the tables in a .json file, to a learner that has learned nothing.

    `weight` is in samples; None is 50. Raises `BadValue` if the prior does not fit.
    """
    if not hasattr(learner, "add_prior"):
        raise BadValue(
            f"prior: a {type(learner).__name__} takes no prior from another model; classifiers do whose counts are "
            "sums, such as nb"
        )
    try:
        usual = getattr(learner, "PRIOR_WEIGHT", None)  # of a product's model, which is none of the learners
        load = load_learner if usual is None else load_answering
        prior = _tables_in(path) if path.suffix == ".json" else load(path)
        learner.add_prior(prior, (usual or PRIOR_WEIGHT) if weight is None else weight)
    except StreamBayesError as error:
        raise BadValue(f"prior {path}: {error}") from error


def _tables_in(path: Path) -> PriorTables:
    try:
        return PriorTables.from_json(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise BadValue(f"it holds no tables: {error}") from error

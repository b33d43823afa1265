"""The state of a `RegressionPanel`: arrays by name, and JSON values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.regression._fading import FadingRegression
from stream_bayes.core.regression.tree import MOST_IN_TREE, load_tree, tree_arrays
from stream_bayes.core.values.checks import expect
from stream_bayes.learners.adaptive._regression_experts import KEPT, TREE_LIFE, WAVES, RegressionPanel

__all__ = ["PREFIX", "load_panel", "panel_arrays", "panel_values"]

PREFIX = "panel_"  # begins the names of the arrays

Array = NDArray[Any]

COUNTS = ("events", "since", "set_at", "considered", "far_targets", "far_numbers", "near", "next_near")
NUMBERS = ("target_mean", "target_deviation", "lowest", "highest", "last", "last_error", "excess", "lacked")
COLUMNS = ("slots", "is_nominal", "mean", "deviation", "flagged", "hinged", "knots", "firsts", "seconds")
OF_FIXED_SIZE = ("errors", "means", "newest_targets")
OF_FEATURES = ("matter", "directions", "phases")
KEPT_EVENTS = ("kept_values", "kept_targets", "kept_weights", "kept_lags")
NEAR = ("near_targets", "near_steady", "near_best")


def panel_values(panel: RegressionPanel) -> dict[str, Any]:
    """Return what is no array."""
    values: dict[str, Any] = {name: int(getattr(panel, name)) for name in COUNTS}
    values |= {name: float(getattr(panel, name)) for name in NUMBERS}
    turns = [int(each.turn) for each in _regressions(panel)]
    return values | {"is_ready": bool(panel.is_ready), "turns": turns}


def panel_arrays(panel: RegressionPanel) -> dict[str, Array]:
    """Return copies of the arrays."""
    events = min(int(panel.events), KEPT)
    arrays = {name: np.array(getattr(panel, name)) for name in COLUMNS + OF_FIXED_SIZE + OF_FEATURES}
    arrays |= {name: np.array(getattr(panel, name)[:events]) for name in KEPT_EVENTS}
    arrays |= {name: np.array(getattr(panel, name)[: panel.near]) for name in NEAR}
    arrays["near_columns"] = np.array(np.asarray(panel.near_columns)[:, : panel.near])
    arrays["tails"] = np.array(panel.correction.shifts)
    arrays["weights"], arrays["squares"] = np.array(panel.mixture.weights), np.array(panel.mixture.squares)
    arrays |= {"tree_columns": np.array(panel.tree_columns), **tree_arrays(panel.tree)}
    for k, each in enumerate(_regressions(panel)):
        size = each.columns + 1
        arrays[f"root_{k}"] = np.asarray(each.root).reshape(size, size)[np.triu_indices(size)]
    plain: dict[str, np.dtype[Any]] = {
        "i": np.dtype(np.int64),
        "f": np.dtype(np.float64),
        "u": np.dtype(np.uint8),
    }
    return {
        PREFIX + name: np.ascontiguousarray(array, plain[array.dtype.kind]) for name, array in arrays.items()
    }


def load_panel(
    panel: RegressionPanel, values: Mapping[str, Any], arrays: Mapping[str, Array], base: Array
) -> None:
    """Fill a new panel. `values` and `arrays` are what `panel_values` and `panel_arrays` returned. `base` has the slot
    without which an event lacks a column, by the slots of the encoder: no column lies beyond.

    Raises
    ------
    BadState
        If they do not fit together, or hold what no panel can have.
    """
    saved = {name.removeprefix(PREFIX): np.array(array) for name, array in arrays.items()}
    for name in COUNTS:
        expect(type(values[name]) is int and values[name] >= 0, f"{name} is {values[name]!r}")
        setattr(panel, name, values[name])
    for name in NUMBERS:
        expect(math.isfinite(values[name]), f"{name} is {values[name]!r}")
    events = min(values["events"], KEPT)
    width = saved["kept_values"].shape[1]
    panel.kept_values, panel.width = np.full((KEPT, width), np.nan), width
    slots, flagged = saved["slots"], saved["flagged"]
    expect(all(0 < slot < len(base) for slot in slots.tolist()), "a column has no feature")
    expect(len(set(slots.tolist())) == len(slots), "two columns have the same feature")
    for name in ("is_nominal", "mean", "deviation"):
        expect(saved[name].shape == slots.shape, f"{name} has the shape {saved[name].shape}")
    expect(
        all(0 <= column < len(slots) for column in flagged.tolist()), "a number that is missing has no column"
    )
    expect(saved["hinged"].shape == saved["knots"].shape, "hinges and knots differ in number")
    expect(all(1 <= column <= len(slots) for column in saved["hinged"].tolist()), "a hinge has no column")
    expect(saved["firsts"].shape == saved["seconds"].shape, "a product has one column")
    multiplied = [*saved["firsts"].tolist(), *saved["seconds"].tolist()]
    expect(all(1 <= column <= len(slots) for column in multiplied), "a product has no column")
    expect(
        bool(np.all(saved["deviation"] > 0.0)) and values["target_deviation"] > 0.0,
        "a deviation is not above 0",
    )
    panel.set_columns(base[slots].astype(np.longlong), *(saved[name] for name in COLUMNS))
    near, count = int(values["near"]), panel.features
    expect(near <= KEPT and values["next_near"] < KEPT, f"it has {near} neighbours")
    _fill(panel, "near_columns", saved["near_columns"], (count, near))
    expect(saved["directions"].shape in ((WAVES, count), (0, 0)), "the waves do not fit the columns")
    expect(len(saved["phases"]) == len(saved["directions"]), "the waves have other phases")
    panel.set_waves(saved["directions"], saved["phases"])
    _load_tree(panel, saved)
    for name in KEPT_EVENTS:
        _fill(panel, name, saved[name], (events, *np.shape(getattr(panel, name))[1:]))
    for name in NEAR:
        _fill(panel, name, saved[name], (near,))
    for name in (*OF_FIXED_SIZE, "matter"):
        _fill(panel, name, saved[name], np.shape(getattr(panel, name)))
    _fill(panel.correction, "shifts", saved["tails"], np.shape(panel.correction.shifts))
    for name in ("weights", "squares"):
        _fill(panel.mixture, name, saved[name], np.shape(getattr(panel.mixture, name)))
        expect(bool(np.all(saved[name] > 0.0)), f"{name} are not above 0")
    for name in (*COUNTS, *NUMBERS):
        setattr(panel, name, values[name])
    panel.is_ready = bool(values["is_ready"])
    regressions = _regressions(panel)
    expect(len(values["turns"]) == len(regressions), "it has another number of experts")
    for k, (each, turn) in enumerate(zip(regressions, values["turns"], strict=True)):
        size = each.columns + 1
        expect(0 <= turn < each.columns, f"expert {k} stands at {turn}")
        root = np.zeros((size, size))
        root[np.triu_indices(size)] = saved[f"root_{k}"]
        expect(
            bool(np.all(np.diag(root)[:-1] > 0.0)) and bool(np.all(np.isfinite(root))),
            f"root_{k} is singular",
        )
        each.root, each.turn = root.ravel(), turn
    expect(
        set(saved) == {name.removeprefix(PREFIX) for name in panel_arrays(panel)},
        "its arrays are not those of its columns",
    )


def _load_tree(panel: RegressionPanel, saved: Mapping[str, Array]) -> None:
    columns = saved["tree_columns"]
    expect(
        all(0 < column < panel.size for column in columns.tolist()) and len(columns) <= MOST_IN_TREE,
        "a column of the tree is none",
    )
    panel.set_tree(columns, saved["tree_cuts"])
    panel.tree = load_tree(saved, 1 + len(columns), TREE_LIFE)


def _fill(owner: Any, name: str, values: Array, shape: tuple[int, ...]) -> None:
    """Write values to the beginning of an array; infinite ones are refused, and missing ones but in kept events."""
    expect(values.shape == shape, f"{name} has the shape {values.shape}, expected {shape}")
    is_good = ~np.isinf(values) if name.startswith(("kept_", "newest_")) else np.isfinite(values)
    expect(bool(np.all(is_good)), f"{name} is not finite")
    whole = np.asarray(getattr(owner, name))
    if name == "near_columns":
        whole[:, : shape[1]] = values
    else:
        whole[: shape[0]] = values


def _regressions(panel: RegressionPanel) -> list[FadingRegression]:
    """Return the experts and stackers that are regressions."""
    return [*panel.experts, *panel.stackers]

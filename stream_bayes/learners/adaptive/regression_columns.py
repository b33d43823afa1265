"""Columns of the experts of a regression: which features they see, in which units, with which knots and waves."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.encoding._targets import TargetEncoder
from stream_bayes.core.regression.tree import (
    FAR_IN_ROW,
    FAR_TARGET,
    MOST_IN_TREE,
    cuts_of,
    deviation_of,
    most_correlated,
    unit_of,
)
from stream_bayes.learners.adaptive._regression_experts import (
    FIRST_SETTING,
    KEPT,
    MOST_COLUMNS,
    MOST_HINGES,
    MOST_PRODUCTS,
    WAVE_LENGTHS,
    WAVES,
    RegressionPanel,
)

__all__ = ["follow_units", "products_of"]

MOST_KNOTS = 8  # of a feature
MOST_MULTIPLIED = 12  # columns whose products are tried
LEAST_FOR_PRODUCTS = 32  # events, and two for each column
LEAST_T = 4.0  # of a product, in its standard errors
RIDGE = 1e-9
FARTHEST = 30.0  # deviations, as the panel has it

Floats = NDArray[np.float64]


def follow_units(panel: RegressionPanel, encoder: TargetEncoder) -> None:
    """Set units, columns, knots and waves anew if it is time, and let the experts learn the kept events again. The
    panel has learned an event.
    """
    base = np.asarray(encoder.base)
    if panel.is_ready and max(panel.far_targets, panel.far_numbers) >= FAR_IN_ROW:
        if panel.far_targets >= FAR_IN_ROW or _has_new_unit(panel):
            panel.since = FAR_IN_ROW  # the events before tell nothing
        panel.far_targets = panel.far_numbers = 0
    elif not _is_due(panel, base):
        return
    indices = _kept_indices(panel)
    targets = np.asarray(panel.kept_targets)[indices]
    mean, deviation = unit_of(targets)
    if deviation == 0.0:
        if not panel.is_ready:
            return
        deviation = panel.target_deviation
    if panel.is_ready:
        factor = panel.target_deviation / deviation
        panel.mixture.rescale(factor)
        panel.errors = np.minimum(np.asarray(panel.errors) * factor * factor, 1e6)
    panel.target_mean, panel.target_deviation = mean, deviation
    panel.is_ready, panel.set_at = True, panel.events
    reach = FAR_TARGET * deviation
    _set_columns(panel, encoder, indices, np.clip(targets, mean - reach, mean + reach))
    panel.relearn(indices.tolist())


def _is_due(panel: RegressionPanel, base: NDArray[np.int32]) -> bool:
    """Return True after 4 events, 8, ..., 1,024; and some events after columns came that have not been considered."""
    if panel.since < FIRST_SETTING:
        return False
    if not panel.is_ready or (panel.since <= KEPT and not panel.since & (panel.since - 1)):
        return True
    has_room = panel.size <= MOST_COLUMNS
    if panel.events - panel.set_at < (KEPT // 4 if has_room else KEPT):
        return False
    new = range(panel.considered, min(panel.width, len(base)))
    return any(base[slot] > 0 for slot in new)


def _has_new_unit(panel: RegressionPanel) -> bool:
    """Return True if a number of the newest events lies far from those kept before; one that only moves on, as a time
    does, comes near them.
    """
    values = np.asarray(panel.kept_values)[_kept_indices(panel)]
    for slot in np.asarray(panel.slots)[np.asarray(panel.is_nominal) == 0].tolist():
        before, newest = values[:-FAR_IN_ROW, slot], values[-FAR_IN_ROW:, slot]
        before, newest = before[~np.isnan(before)], newest[~np.isnan(newest)]
        if len(before) and len(newest):
            unit = deviation_of(before) or max(abs(float(np.mean(before))), 1.0)
            if float(np.min(np.abs(newest - np.mean(before)))) >= FARTHEST * unit:
                return True
    return False


def _kept_indices(panel: RegressionPanel) -> NDArray[np.int64]:
    """Return where the kept events are since a unit changed, the oldest first."""
    count = min(panel.since, KEPT)
    return np.arange(panel.events - count, panel.events) % KEPT


def _set_columns(
    panel: RegressionPanel, encoder: TargetEncoder, indices: NDArray[np.int64], targets: Floats
) -> None:
    base = np.asarray(encoder.base)
    values = np.asarray(panel.kept_values)[indices]
    is_there = ~np.isnan(values)
    panel.considered = min(values.shape[1], len(encoder.numeric))
    slots = [s for s in range(1, panel.considered) if base[s] >= 0 and is_there[:, s].any()]
    # By name, so that the order in which features come changes nothing.
    slots.sort(key=lambda slot: repr(encoder.numeric[slot].name))
    room = MOST_COLUMNS - panel.lags
    if len(slots) > room:
        filled = values[:, slots]
        filled = np.where(np.isnan(filled), 0.0, filled)
        slots = [slots[k] for k in most_correlated(filled, targets, room)]
    is_nominal = np.array([base[slot] != slot for slot in slots], np.uint8)
    mean, deviation = np.zeros(len(slots)), np.ones(len(slots))
    flagged: list[int] = []
    hinged: list[int] = []
    knots: list[float] = []
    numbers = len(slots) - int(is_nominal.sum())
    most_knots = min(MOST_KNOTS, MOST_HINGES // max(numbers, 1))
    for k, slot in enumerate(slots):
        if is_nominal[k]:
            mean[k] = is_there[:, slot].mean()
            continue
        column = values[is_there[:, slot], slot]
        mean[k] = column.mean()
        deviation[k] = deviation_of(column) or max(abs(float(mean[k])), 1.0)
        if len(column) < len(values) and len(slots) + len(flagged) < room:
            flagged.append(k)
        if most_knots:
            shares = (np.arange(most_knots) + 0.5) / most_knots
            for knot in np.unique(np.quantile(column, shares)):
                hinged.append(1 + k)
                knots.append((knot - mean[k]) / deviation[k])
    blank = np.where(is_nominal > 0, -mean, 0.0)
    shown = values[:, slots]
    shown = np.where(np.isnan(shown), blank, np.clip((shown - mean) / deviation, -FARTHEST, FARTHEST))
    firsts, seconds = products_of(shown, (targets - panel.target_mean) / panel.target_deviation)
    panel.set_columns(
        base[slots].astype(np.longlong),
        np.array(slots, np.longlong),
        is_nominal,
        mean,
        deviation,
        np.array(flagged, np.longlong),
        np.array(hinged, np.longlong),
        np.array(knots, float),
        firsts,
        seconds,
    )
    features = np.concatenate([shown, np.isnan(values[:, slots])[:, flagged]], axis=1)
    _set_tree(panel, features, indices, targets)
    rng = np.random.default_rng(int(panel.seed))
    count = panel.features
    lengths = np.resize(WAVE_LENGTHS, WAVES) * math.sqrt(max(count, 1))
    panel.set_waves(
        rng.normal(size=(WAVES, count)) / lengths[:, None], rng.uniform(0.0, 2.0 * math.pi, WAVES)
    )


def products_of(columns: Floats, targets: Floats) -> tuple[NDArray[np.longlong], NDArray[np.longlong]]:
    """Return both columns, from 1, of each product that tells of what a linear regression leaves; the best first.

    One after the other is chosen, by what it tells beyond all columns and those before.
    """
    rows, count = columns.shape
    tried = sorted(most_correlated(columns, targets, MOST_MULTIPLIED))
    pairs = np.array([*combinations(tried, 2)], int).reshape(-1, 2)
    chosen: list[int] = []
    if len(pairs) and rows >= max(LEAST_FOR_PRODUCTS, 2 * (count + 1)):
        design = np.column_stack([np.ones(rows), columns])
        products = np.clip(columns[:, pairs[:, 0]] * columns[:, pairs[:, 1]], -FARTHEST, FARTHEST)
        left = np.column_stack([targets, products])
        sums = design.T @ design + RIDGE * rows * np.eye(count + 1)
        left = left - design @ np.linalg.solve(sums, design.T @ left)
        floor = RIDGE * np.square(products).sum()
        while len(chosen) < MOST_PRODUCTS:
            sizes = np.square(left).sum(axis=0)
            told = np.where(sizes > floor, np.square(left.T @ left[:, 0]) / np.maximum(sizes, floor), 0.0)
            told[0] = 0.0  # the target itself
            best = int(np.argmax(told))
            if told[best] * rows <= LEAST_T * LEAST_T * sizes[0]:
                break
            chosen.append(best - 1)
            along = left[:, best] / math.sqrt(sizes[best])
            left = left - np.outer(along, along @ left)
    firsts, seconds = (np.array([1 + pairs[k][side] for k in chosen], np.longlong) for side in (0, 1))
    return firsts, seconds


def _set_tree(panel: RegressionPanel, features: Floats, indices: NDArray[np.int64], targets: Floats) -> None:
    """Let the tree see the columns that vary most with the target, and cut them where events are."""
    lags = (np.asarray(panel.kept_lags)[indices] - panel.target_mean) / panel.target_deviation
    lags = np.clip(np.nan_to_num(lags), -FAR_TARGET, FAR_TARGET)
    columns = np.concatenate([features, lags], axis=1)
    chosen = most_correlated(columns, targets, MOST_IN_TREE)
    panel.set_tree(1 + np.array(chosen, np.longlong), cuts_of(columns[:, chosen]))

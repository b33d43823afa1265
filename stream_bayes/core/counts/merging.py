"""Merging of stores: names first, then tables, whose codes are translated by name.

Equal codes of two stores mean nothing; only names do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._tables import Tables
from stream_bayes.core.counts.families import pour
from stream_bayes.core.counts.state import grid, vocabularies
from stream_bayes.core.encoding._features import Encoder
from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue, CannotMerge, UnknownFeature

__all__ = ["add_tables", "check_names_fit", "copy_names", "merge_names", "merge_tables"]

Array = NDArray[Any]


def merge_names(mine: Encoder, theirs: Encoder) -> None:
    """Create a code here for each name of another encoder: all of them, or none and `CannotMerge`."""
    mine.rollback()
    try:
        for y in theirs.labels.values:
            mine.name_label(y)
        for feature in theirs.features.values():
            ours = mine.name_feature(feature.name, feature.measured)
            if ours.measured != feature.measured:
                raise CannotMerge(
                    f"feature {feature.name!r} is nominal in one learner and numeric in the other"
                )
        for feature in theirs.nominal:
            if feature.measured:
                continue  # its bins are those of its cuts
            vocabulary = mine.features[feature.name].vocabulary
            _merge_vocabulary(f"feature {feature.name!r}", vocabulary, feature.vocabulary, mine.created)
    except BaseException:
        mine.rollback()
        raise


def check_names_fit(mine: Encoder, theirs: Encoder) -> None:
    """Raise an error for a feature, or a value of one, of another encoder that is not among those declared here.

    Labels and kinds of features are checked by `merge_names`.
    """
    for feature in theirs.features.values():
        ours = mine.features.get(feature.name)
        if ours is None and mine.declared:
            raise UnknownFeature(
                f"the prior has the feature {shown(feature.name)}, and the features declared are "
                f"{shown(list(mine.features))}"
            )
        if ours is None or feature.numeric or ours.numeric or feature.measured:
            continue
        absent = [value for value in feature.vocabulary.values if value not in ours.vocabulary]
        if ours.vocabulary.closed and absent:
            raise BadValue(
                f"the prior has the value {shown(absent[0])} of {shown(feature.name)}, and the values declared are "
                f"{shown(ours.vocabulary.values)}"
            )


def copy_names(mine: Encoder, theirs: Encoder) -> None:
    """Copy the names of another encoder, with their codes. Names in both encoders must have the same codes.

    Values past a limit share one code in both. The caller makes room.
    """
    mine.rollback()
    for y in theirs.labels.values[len(mine.labels) :]:
        mine.name_label(y)
    for feature in list(theirs.features.values())[len(mine.features) :]:
        mine.name_feature(feature.name, feature.measured)
    for ours, other in zip(mine.nominal, theirs.nominal, strict=False):
        for value in [] if other.measured else other.vocabulary.values[len(ours.vocabulary) :]:
            ours.vocabulary.insert(value)
            mine.created.append(ours.vocabulary)


def merge_tables(encoder: Encoder, mine: Tables, other: Encoder, theirs: Tables) -> None:
    """Add another store's tables to tables with room for all its names. The older of two fading ones is aged."""
    add_tables(encoder, mine, other, theirs, _factor_of_units(mine, theirs))


def add_tables(encoder: Encoder, mine: Tables, other: Encoder, theirs: Tables, factor: float) -> None:
    """Add another store's tables, times a factor, to tables with room for all its names.

    The numbers of samples are added as they are: scaled events are as many events.
    """
    if not theirs.exact or factor != 1.0:
        mine.leave_exact()
    labels = np.array([encoder.labels.lookup(y) for y in other.labels.values], np.longlong)
    _add(mine.class_weight, theirs.class_weight, 1, labels, factor=factor)
    peaks = np.asarray(mine.class_peak)
    peaks[labels] = np.maximum(peaks[labels], factor * np.asarray(theirs.class_peak)[: len(labels)])
    _merge_values(encoder, mine, other, theirs, labels, factor)
    slots = np.array([encoder.features[feature.name].slot for feature in other.numeric], np.longlong)
    if mine.co_moments is not None:
        mine.co_moments.pour(mine.gaussians, theirs.co_moments, theirs.gaussians, slots, labels, factor)
    mine.gaussians.pour(theirs.gaussians, slots, labels, factor)
    if mine.families is not None and theirs.families is not None:
        pour(encoder, mine.families, other, theirs.families, factor)
    mine.raise_peaks()


def _factor_of_units(mine: Tables, theirs: Tables) -> float:
    """Advance tables that fade to the other's clock or time. Return the factor of the other's weights: a power of 2."""
    mine.tick(max(0, theirs.clock - mine.clock))
    if mine.timed and theirs.has_time:
        mine.advance_to(theirs.time)
    if theirs.origin > mine.origin:  # the later unit stays
        mine.move_origin(theirs.origin)
    half_lives = mine.origin - theirs.origin
    return float(2.0**-half_lives) if half_lives < 1000 else 0.0


def _merge_values(
    encoder: Encoder, tables: Tables, other: Encoder, their_tables: Tables, labels: Array, factor: float
) -> None:
    mine, theirs = tables.values, their_tables.values
    runs = [encoder.features[feature.name].slot for feature in other.nominal]
    targets = np.zeros(theirs.layout.positions, np.longlong)
    positions = theirs.layout.positions_of(np.asarray(theirs.layout.used)[: len(runs)])
    our_vocabularies = vocabularies(encoder)
    targets[positions] = np.fromiter(
        (
            mine.layout.start[run] + our_vocabularies[run].find(value)
            for run, vocabulary in zip(runs, vocabularies(other), strict=True)
            for value in vocabulary.values
        ),
        np.longlong,
        len(positions),
    )
    here, there = mine.layout.classes, theirs.layout.classes
    rows = np.array(runs, np.longlong)
    _add(mine.weight, theirs.weight, here, labels, there, targets[positions], positions, factor)
    _add(mine.present, theirs.present, here, labels, there, rows, slice(len(rows)), factor)
    if not mine.exact:
        _add(mine.samples, theirs.samples, here, labels, there, targets[positions], positions)
        _add(mine.present_samples, theirs.present_samples, here, labels, there, rows, slice(len(rows)))
        _add(tables.class_samples, their_tables.class_samples, 1, labels)
    if tables.pairs is not None:
        tables.pairs.pour(their_tables.pairs, targets, labels, factor)
    if tables.triples is not None:
        tables.triples.pour(their_tables.triples, targets, labels, factor)
    tables.mend()


def _add(
    mine: Any,
    theirs: Any,
    here: int,
    labels: Array,
    there: int = 1,
    rows: Any = slice(None),
    their_rows: Any = slice(None),
    factor: float = 1.0,
) -> None:
    """Add one table to another, rows and classes translated. With a stride of 1 the table is one row of classes."""
    target = np.asarray(mine)
    if here == 1:
        target[labels] += factor * np.asarray(theirs)[: len(labels)]
        return
    source = grid(theirs, there)[their_rows][:, : len(labels)]
    grid(target, here)[np.ix_(rows, labels)] += factor * source


def _merge_vocabulary(what: str, mine: Vocabulary, theirs: Vocabulary, created: list[Any]) -> None:
    """Create a code here for each value of another vocabulary. Vocabularies whose values share a code, which the order
    of events decides, cannot be merged.
    """
    if mine.limit is not None:
        union = len({*mine.values, *theirs.values})
        if mine.other >= 0 or theirs.other >= 0 or union > mine.limit:
            raise CannotMerge(
                f"{what} has passed max_values={mine.limit}, or would by merging: which values share <other> depends "
                "on the order of events, so these learners cannot be merged"
            )
    for value in theirs.values:
        if value not in mine:
            mine.insert(value)
            created.append(mine)

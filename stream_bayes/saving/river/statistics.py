"""Codecs of River's statistics, and of the windows around them."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from typing import Any

from river import stats, utils

from stream_bayes.core.values.values import JSONValue, shown
from stream_bayes.saving.river.codecs import (
    COUNT,
    FLAG,
    PLAIN,
    REAL,
    WEIGHT,
    DequeOf,
    DictOf,
    ListOf,
    PayloadCodec,
    SortedDictOf,
    ValueCodec,
)
from stream_bayes.saving.river.compiled_objects import (
    EW_MEAN,
    EW_VAR,
    IQR,
    KURTOSIS,
    PEAK_TO_PEAK,
    QUANTILE,
    SKEW,
    SORTED_WINDOW,
)
from stream_bayes.saving.river.location import Location
from stream_bayes.saving.river.registry import OBJECT, register

__all__: list[str] = []

COMPARABLE = PayloadCodec("a number that is no NaN", lambda x: REAL.fits(x) and x == x)
TALLIES = DictOf(PayloadCodec("a whole number from 1", lambda n: COUNT.fits(n) and n >= 1))

register(stats.Count, {"n": COUNT})
register(stats.Mean, {"n": WEIGHT, "_mean": REAL})
register(stats.BayesianMean, {"_mean": OBJECT})
register(stats.Var, {"mean": OBJECT, "_S": REAL})
register(stats.SEM, {"mean": OBJECT, "_S": REAL})
register(stats.Cov, {"mean_x": OBJECT, "mean_y": OBJECT, "cov": REAL})
register(
    stats.PearsonCorr,
    {"var_x": OBJECT, "var_y": OBJECT, "cov_xy": OBJECT},
    parameters={"ddof": lambda instance: instance.cov_xy.ddof},
)
register(stats.Sum, {"sum": REAL})
register(stats.Min, {"min": REAL})
register(stats.Max, {"max": REAL})
register(stats.AbsMax, {"abs_max": REAL})
register(stats.PeakToPeak, {"_ptp": PEAK_TO_PEAK, "_is_updated": FLAG})
register(stats.Mode, {"counts": TALLIES})
register(stats.Entropy, {"entropy": REAL, "n": COUNT, "counter": SortedDictOf(COUNT)})
register(stats.Shift, {"buffer": DequeOf(PLAIN)})
register(stats.EWMean, {"_ewmean": EW_MEAN})
register(stats.EWVar, {"_ewvar": EW_VAR})
register(stats.Kurtosis, {"_kurtosis": KURTOSIS})
register(stats.Skew, {"_skew": SKEW})
register(stats.Quantile, {"_quantile": QUANTILE, "_is_updated": FLAG})
register(stats.IQR, {"_iqr": IQR, "_is_updated": FLAG})

SIZED = {"window_size": lambda instance: instance.window_size}
register(stats.RollingMode, {"window": DequeOf(PLAIN), "counts": TALLIES}, parameters=SIZED)
register(stats.RollingMin, {"window": OBJECT}, parameters=SIZED)
register(stats.RollingMax, {"window": OBJECT}, parameters=SIZED)
register(stats.RollingAbsMax, {"window": OBJECT}, parameters=SIZED)
register(stats.RollingPeakToPeak, {"max": OBJECT, "min": OBJECT}, parameters=SIZED)
for kind, attribute in ((stats.RollingQuantile, "_rolling_quantile"), (stats.RollingIQR, "_rolling_iqr")):
    register(
        kind,
        {attribute: SORTED_WINDOW, "_is_updated": FLAG},
        parameters=SIZED,
        derived=["window_size_value"],
    )

register(stats.Link)  # two statistics, both parameters

# Sorted, and in the order of arrival. Equal numbers may be of different types in the two, so both are needed.
register(
    utils.SortedWindow,
    {"data": ListOf(COMPARABLE), "unsorted_window": DequeOf(COMPARABLE)},
    parameters={"size": lambda instance: instance.size},
    fits=lambda instance: instance.data == sorted(instance.unsorted_window),
)


def _are_arguments(instance: object) -> bool:
    return (
        isinstance(instance, tuple)
        and len(instance) == 2
        and isinstance(instance[0], tuple)
        and isinstance(instance[1], dict)
        and {str}.issuperset(map(type, instance[1]))
    )


ARGUMENTS = PayloadCodec("arguments, and arguments by name", _are_arguments)


def _takes(instance: Any, entries: Iterable[Any]) -> bool:
    """Return True if an object accepts these arguments for update and revert."""
    probe = copy.deepcopy(instance)
    try:
        for args, named in entries:
            probe.update(*args, **named)
            probe.revert(*args, **named)
    except Exception:  # whatever hostile arguments provoke would otherwise stop the stream later
        return False
    return True


class _Moment(ValueCodec):
    """A date and time without a zone: River's windows of time compare with one."""

    def encode(self, value: Any, location: Location) -> JSONValue:
        if type(value) is not datetime or value.tzinfo is not None:
            raise location.cannot_save(
                f"expected a datetime without a zone, got {type(value).__name__}: {shown(value)}"
            )
        return value.isoformat()

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        try:
            moment = datetime.fromisoformat(saved)
        except (TypeError, ValueError) as error:
            raise location.altered("a date and time", saved) from error
        if moment.tzinfo is not None or moment.isoformat() != saved:
            raise location.altered("a date and time as it is written", saved)
        return moment


MOMENT = _Moment()
OF_A_CLASS = {"cls": None, "kwargs": None, "obj": lambda instance: instance.obj}  # the object determines both

register(
    utils.Rolling,
    {"window": DequeOf(ARGUMENTS)},
    derived=["obj", "_window_size"],
    parameters={**OF_A_CLASS, "window_size": lambda instance: instance.window_size},
    fits=lambda instance: _takes(instance.obj, instance.window),
)
register(
    utils.TimeRolling,
    {"_timestamps": ListOf(MOMENT), "_datum": ListOf(ARGUMENTS), "_latest": MOMENT},
    derived=["obj"],
    parameters=OF_A_CLASS,
    fits=lambda instance: (
        len(instance._timestamps) == len(instance._datum)
        and all(a <= b for a, b in pairwise([*instance._timestamps, instance._latest]))
        and _takes(instance.obj, instance._datum)
    ),
)

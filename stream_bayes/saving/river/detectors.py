"""Codecs of River's drift detectors and of the models that they replace."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from river import drift
from river.drift import binary
from river.drift.binary.hddm_w import SampleInfo

from stream_bayes.saving.river.codecs import (
    COUNT,
    FINITE,
    FLAG,
    GENERATOR,
    DequeOf,
    OrNone,
    ValueCodec,
    number_between,
)
from stream_bayes.saving.river.compiled_objects import ADAPTIVE_WINDOW
from stream_bayes.saving.river.location import Location
from stream_bayes.saving.river.parameters import compare_parameters
from stream_bayes.saving.river.registry import (
    OBJECT,
    ObjectCodec,
    configuration_of,
    decode_object,
    encode_object,
    register,
    register_codec,
    unseeded,
)

__all__: list[str] = []

UNIT = number_between(0, 1)
ANY = number_between(-math.inf, math.inf)
DRIFT = {"_drift_detected": FLAG}
WARNING = {**DRIFT, "_warning_detected": FLAG}

register(drift.NoDrift, DRIFT)
register(drift.ADWIN, {"_helper": ADAPTIVE_WINDOW, **DRIFT})
register(
    drift.PageHinkley,
    {
        "_x_mean": OBJECT,
        "_sum_increase": FINITE,
        "_sum_decrease": FINITE,
        "_min_increase": ANY,
        "_max_decrease": FINITE,
        **DRIFT,
    },
    derived=["_test_drift"],
)


register(
    drift.KSWIN,
    {"p_value": UNIT, "n": COUNT, "window": DequeOf(FINITE), "_rng": GENERATOR, **DRIFT},
    parameters={"window": None},
    refused=unseeded,
)


# -- of errors --------------------------------------------------------------------------------------------------------


def _ddm_fits(instance: Any) -> bool:
    """Return True if the error rate is valid, and the minimum and its deviation are both set or both unset."""
    least = instance._p_min is None, instance._s_min is None, instance._ps_min == math.inf
    return 0 <= instance._p.get() <= 1 and (all(least) or not any(least))


register(
    binary.DDM,
    {
        "_p": OBJECT,
        "_p_min": OrNone(UNIT),
        "_s_min": OrNone(UNIT),
        "_ps_min": number_between(0, math.inf),
        **WARNING,
    },
    fits=_ddm_fits,
)


def _eddm_fits(instance: Any) -> bool:
    """Return True if errors are among the events, and the distances between them have a variance."""
    most = instance._p2s_prime_max
    return bool(
        instance._n_errors <= instance._n
        and instance._last_error <= instance._n
        and instance._error_distances._S >= 0
        and instance._error_distances.n == instance._n_errors
        and (most == -1 or most > 0)
    )


register(
    binary.EDDM,
    {
        "_error_distances": OBJECT,
        "_n": COUNT,
        "_last_error": COUNT,
        "_n_errors": COUNT,
        "_p2s_prime_max": FINITE,
        **WARNING,
    },
    fits=_eddm_fits,
)


def _fhddm_fits(instance: Any) -> bool:
    return math.isclose(instance.n_one, sum(instance._sliding_window), abs_tol=1e-6)


def _fhddm(instance: Any) -> dict[str, ValueCodec]:
    holds: dict[str, ValueCodec] = {
        "_sliding_window": DequeOf(UNIT),
        "n_one": FINITE,
        "_u_max": UNIT,
        **DRIFT,
    }
    if instance.short_window_size is not None:
        holds |= {"_short_window": DequeOf(UNIT), "_u_short_max": UNIT}
    return {**holds, "_warning_detected": FLAG}


register(binary.FHDDM, _fhddm, derived=["_epsilon", "_epsilon_s"], fits=_fhddm_fits)


def _hddm_a_fits(detector: Any) -> bool:
    """Return True if the two best prefixes are no longer than the whole."""
    total = detector._z.n
    return all(
        0 <= prefix.n <= total and (prefix.n > 0) == (total > 0)
        for prefix in (detector._x_min, detector._x_max)
    )


register(
    binary.HDDMA,
    {"_x_min": OBJECT, "_x_max": OBJECT, "_z": OBJECT, **WARNING},
    fits=_hddm_a_fits,
)
register(
    SampleInfo,
    {"_ewma": OBJECT, "_is_init": FLAG, "_ibc": UNIT},
    derived=["_lambd_sq", "_c_lambd_sq"],
    parameters={"lambd": lambda instance: instance._ewma.fading_factor},
)
SAMPLES = ("_total", "_s1_decr", "_s1_incr", "_s2_decr", "_s2_incr")
register(
    binary.HDDMW,
    {**dict.fromkeys(SAMPLES, OBJECT), "_incr_cutpoint": ANY, "_decr_cutpoint": ANY, **WARNING},
)


# -- models that are replaced -----------------------------------------------------------------------------------------


class _Retraining(ObjectCodec):
    """The codec of a classifier that is replaced after a detected drift: both classifiers, and the detector."""

    PARTS = ("model", "drift_detector", "bkg_model")

    def encode(self, instance: Any, location: Location) -> dict[str, Any]:
        return self._written(instance, location, encode_object)

    def configuration(self, instance: Any, location: Location) -> dict[str, Any]:
        return self._written(instance, location, configuration_of)

    def _written(
        self, instance: Any, location: Location, write: Callable[[Any, Location], dict[str, Any]]
    ) -> dict[str, Any]:
        parts = {name: write(getattr(instance, name), location.at(name)) for name in self._names(instance)}
        return {"train_in_background": instance.train_in_background, **parts}

    def _names(self, instance: Any) -> tuple[str, ...]:
        return self.PARTS if instance.train_in_background else self.PARTS[:2]

    def decode(self, made: Any, saved: dict[str, Any], location: Location) -> Any:
        flag = "train_in_background"
        compare_parameters({flag: made.train_in_background}, {flag: saved.get(flag)}, location)
        _, *parts = location.fields(saved, flag, *self._names(made))
        for name, state in zip(self._names(made), parts, strict=True):
            setattr(made, name, decode_object(getattr(made, name), state, location.at(name)))
        return made

    def parts(self, instance: Any) -> Iterator[Any]:
        return (getattr(instance, name) for name in self._names(instance))


register_codec(drift.DriftRetrainingClassifier, _Retraining())

"""The inner parts of River that states hold: where another version changed them, models with these are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from river import base, drift, metrics, stats
from river._river_rust import drift as compiled_drift
from river._river_rust import stats as compiled_stats
from river.drift import binary
from river.drift.binary.hddm_w import SampleInfo

from stream_bayes.saving.river import compiled_objects

# Attributes that no documentation of River names, in which its objects keep what they learn.
ATTRIBUTES: list[tuple[Callable[[], Any], str]] = [
    (drift.ADWIN, "_helper _drift_detected"),
    (drift.KSWIN, "_rng _drift_detected"),
    (
        drift.PageHinkley,
        "_x_mean _sum_increase _sum_decrease _min_increase _max_decrease _test_drift _drift_detected",
    ),
    (binary.DDM, "_p_min _s_min _ps_min _drift_detected _warning_detected"),
    (binary.EDDM, "_error_distances _last_error _n_errors _p2s_prime_max _drift_detected _warning_detected"),
    (binary.FHDDM, "_sliding_window _u_max _epsilon _drift_detected _warning_detected"),
    (binary.HDDMA, "_x_min _x_max _z _drift_detected _warning_detected"),
    (
        binary.HDDMW,
        "_total _s1_decr _s1_incr _s2_decr _s2_incr _incr_cutpoint _decr_cutpoint _drift_detected _warning_detected",
    ),
    (lambda: SampleInfo(0.1), "_ewma _is_init _ibc _lambd_sq _c_lambd_sq"),
    (stats.EWMean, "_ewmean"),
    (stats.EWVar, "_ewvar"),
    (stats.IQR, "_iqr _is_updated"),
    (stats.Kurtosis, "_kurtosis"),
    (stats.Mean, "_mean"),
    (stats.PeakToPeak, "_ptp _is_updated"),
    (stats.Quantile, "_quantile _is_updated"),
    (lambda: stats.RollingIQR(9), "_rolling_iqr _is_updated"),
    (lambda: stats.RollingQuantile(0.5, 9), "_rolling_quantile _is_updated"),
    (stats.Skew, "_skew"),
    (metrics.MAE, "_mean"),
    (metrics.ClassificationReport, "_f1s _accuracy"),
    (metrics.RollingROCAUC, "_metric _buf_labels _buf_scores"),
]
COMPILED = (
    *(f"stats.Rs{name}" for name in ("EWMean", "EWVar", "IQR", "Kurtosis", "PeakToPeak", "Quantile", "Skew")),
    "drift.AdaptiveWindowing",
)
LAYOUTS = ("EW_MEAN", "EW_VAR", "QUANTILE", "IQR", "PEAK_TO_PEAK", "KURTOSIS", "SKEW", "ADAPTIVE_WINDOW")
METHODS = ("_get_params", "_tags", "_more_tags", "_multiclass", "_supervised", "_unit_test_params")


@pytest.mark.parametrize(("make", "names"), ATTRIBUTES, ids=lambda value: getattr(value, "__name__", None))
def test_an_object_of_river_has_the_attributes_that_states_hold(make: Callable[[], Any], names: str) -> None:
    assert set(names.split()) <= vars(make()).keys()


@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_class_of_river_is_pickled_as_bytes(name: str) -> None:
    module, _, kind = name.partition(".")
    found = getattr({"stats": compiled_stats, "drift": compiled_drift}[module], kind)
    assert callable(found.__getstate__) and callable(found.__setstate__)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_compiled_object_of_river_has_the_layout_that_is_written(name: str) -> None:
    assert getattr(compiled_objects, name).is_known


@pytest.mark.parametrize("name", METHODS)
def test_rivers_base_class_has_the_methods_that_learners_call_or_replace(name: str) -> None:
    assert any(name in vars(kind) for kind in base.Classifier.__mro__)

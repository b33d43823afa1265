"""Codecs of River's transformers of numbers, nominal values and texts."""

from __future__ import annotations

from typing import Any

from river import feature_extraction, preprocessing

from stream_bayes.saving.river.codecs import (
    COUNT,
    MAPPINGS,
    PLAIN,
    REAL,
    SETS,
    TEXTS,
    DictOf,
    SortedDictOf,
    ValueCodec,
)
from stream_bayes.saving.river.registry import OBJECT, register, unseeded

__all__: list[str] = []

BY_NAME = DictOf(REAL)
OBJECT_BY_NAME = DictOf(OBJECT)

# -- scaling ----------------------------------------------------------------------------------------------------------


def _scaler(instance: Any) -> dict[str, ValueCodec]:
    kind = BY_NAME if instance.window_size is None else OBJECT_BY_NAME
    return {"counts": DictOf(COUNT), "means": kind, "vars": kind}


register(preprocessing.StandardScaler, _scaler)
register(preprocessing.MinMaxScaler, {"min": OBJECT_BY_NAME, "max": OBJECT_BY_NAME})
register(preprocessing.MaxAbsScaler, {"abs_max": OBJECT_BY_NAME})
register(preprocessing.RobustScaler, {"median": OBJECT_BY_NAME, "iqr": OBJECT_BY_NAME})
register(preprocessing.AdaptiveStandardScaler, {"vars": OBJECT_BY_NAME, "means": OBJECT_BY_NAME})
register(preprocessing.Normalizer)
register(preprocessing.Binarizer)

# -- nominal and missing values ---------------------------------------------------------------------------------------


def _is_whole(instance: Any) -> bool:
    """Return True if the zeros of an encoder match its known values."""
    if instance.drop_zeros:
        return not instance.values and not instance._zero_dict
    named = {f"{name}_{value}" for name, values in instance.values.items() for value in values}
    return instance.categories is not None or named == instance._zero_dict.keys()


def _order_zeros(instance: Any) -> None:
    # Given categories are sets, and their order is that of hashes.
    if instance.categories is not None:
        instance._zero_dict = dict.fromkeys(sorted(instance._zero_dict), 0)


register(
    preprocessing.OneHotEncoder,
    lambda instance: {"values": SETS, "_zero_dict": TEXTS} if instance.categories is None else {},
    derived=["values", "_zero_dict"],
    fits=_is_whole,
    fix_order=_order_zeros,
)
register(
    preprocessing.OrdinalEncoder,
    lambda instance: {"values": MAPPINGS} if instance.categories is None else {},
    derived=["values", "_reserved_category_codes"],
)
register(preprocessing.PreviousImputer, {"_latest": DictOf(PLAIN)})
register(preprocessing.StatImputer, derived=["stats"])  # the statistics are its parameters
register(
    preprocessing.FeatureHasher,
    derived=["_seed"],
    refused=unseeded,
)

# -- texts ------------------------------------------------------------------------------------------------------------

register(feature_extraction.BagOfWords, derived=["processing_steps"])
# Terms are counted out of a set: their order is that of hashes, and means nothing.
register(
    feature_extraction.TFIDF,
    {"dfs": SortedDictOf(COUNT), "n": COUNT},
    derived=["processing_steps"],
)
register(feature_extraction.PolynomialExtender)

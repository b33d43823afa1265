"""Codecs of River's transformers that rename, select and group features."""

from __future__ import annotations

from typing import Any

from river import compose

from stream_bayes.core.values.values import name_order
from stream_bayes.saving.river.codecs import DictOf
from stream_bayes.saving.river.registry import OBJECT, register

__all__: list[str] = []


def _order_keys(instance: Any) -> None:
    # It hands the features on in the order of a set, so of hashes; a dict's keys serve it as well.
    instance.keys = dict.fromkeys(sorted(instance.keys, key=name_order))


KEYS = {"keys": lambda instance: frozenset(instance.keys)}
register(compose.Select, parameters=KEYS, fix_order=_order_keys)
register(compose.Discard, parameters=KEYS)
register(compose.SelectType)
register(compose.Prefixer)
register(compose.Suffixer)
register(compose.Renamer)
register(compose.Grouper, {"transformers": DictOf(OBJECT)})

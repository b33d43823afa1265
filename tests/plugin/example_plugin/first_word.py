"""A model that reads whole messages, and the decoder of these: it learns the label of each first word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from river import base

from stream_bayes.streams.records.decoder import Decoder
from stream_bayes.streams.served_models.product_models import ProductModel
from stream_bayes.streams.served_models.river import ServedRiver

__all__ = ["FIRST_WORD", "FirstWord", "SentenceDecoder"]


class FirstWord(base.Classifier):
    """A classifier by the first word of a sentence."""

    def __init__(self, fallback: str = "unknown") -> None:
        self.fallback = fallback
        self.labels: dict[str, str] = {}

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        self.labels[x["sentence"].split()[0]] = y

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        return {self.labels.get(x["sentence"].split()[0], self.fallback): 1.0}


class SentenceDecoder(Decoder):
    """A decoder of one sentence a record."""

    name = "sentence"
    model = "first-word"

    def content(self, raw: bytes) -> dict[str, Any]:
        return {"sentence": raw.decode()}


class _FirstWordModel(ProductModel):
    name = "first-word"
    model = FirstWord
    decoder = SentenceDecoder.name

    def arguments(self) -> list[str]:
        return ["fallback"]

    def make(self, arguments: Mapping[str, Any], key: bytes | None) -> FirstWord:
        return FirstWord(**arguments)

    def serve(self, model: FirstWord) -> ServedRiver:
        return ServedRiver(model, None)

    def make_decoder(
        self, model: FirstWord, max_record_bytes: int, headings: Sequence[str]
    ) -> SentenceDecoder:
        return SentenceDecoder(max_record_bytes=max_record_bytes)


FIRST_WORD = _FirstWordModel()

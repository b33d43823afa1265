"""Models that products bring, beside the learners of the catalogue, for pipeline files and for the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream_bayes.registry import Registry
from stream_bayes.streams.records.decoder import Decoder

if TYPE_CHECKING:
    from stream_bayes.streams.served_models.protocol import Served

__all__ = ["MODELS", "ProductModel", "product_model_of"]


@dataclass(frozen=True)
class ProductModel:
    """A model that reads whole messages: it takes no schema, transformers, drift detection or decision rule of others.

    `name` stands in pipeline files, and `model` is the class. `arguments` lists what a file may give, and `make` makes
    a model of these and of a secret key. `serve` gives it to the engine. `decoder` names the decoder of its messages,
    and `make_decoder` returns one that takes a message apart as this model does, with the `headings` to show.
    """

    name: str
    model: type[Any]
    arguments: Callable[[], list[str]]
    make: Callable[[Mapping[str, Any], bytes | None], Any]
    serve: Callable[[Any], Served]
    decoder: str
    make_decoder: Callable[[Any, int, Sequence[str]], Decoder]
    headings: tuple[str, ...]


# By their names in pipeline files, and by the names of their classes.
MODELS: Registry[ProductModel] = Registry("model", "models")
_CLASSES: Registry[ProductModel] = Registry("class of models", "model_classes")


def product_model_of(model: Any) -> ProductModel | None:
    """Return what a product says of a model; None for a model that no product brings."""
    for base in type(model).__mro__:
        if base.__name__ in _CLASSES and _CLASSES[base.__name__].model is base:
            return _CLASSES[base.__name__]
    return None

"""Models that products bring, beside the learners of the catalogue, for pipeline files, the engine and the service."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from stream_bayes.errors import NotSupported
from stream_bayes.registry import Registry
from stream_bayes.streams.records.decoder import Decoder

if TYPE_CHECKING:
    from stream_bayes.streams.served_models.protocol import Served

__all__ = ["MODELS", "ProductModel", "product_model_of"]


class ProductModel(ABC):
    """A model that reads whole messages: it takes no schema, transformers, drift detection or decision rule of others.

    Attributes
    ----------
    name
        Its name in pipeline files.
    model
        The class.
    decoder
        The name of the decoder of its messages.
    headings
        What of a message may be shown to people.
    described_in
        Further classes whose documentation that of its arguments points to.
    """

    name: ClassVar[str]
    model: ClassVar[type[Any]]
    decoder: ClassVar[str]
    headings: ClassVar[tuple[str, ...]] = ()
    described_in: ClassVar[tuple[type[Any], ...]] = ()

    # -- in pipelines -------------------------------------------------------------------------------------------------

    @abstractmethod
    def arguments(self) -> list[str]:
        """Return the names of the arguments that a file may give."""

    @abstractmethod
    def make(self, arguments: Mapping[str, Any], key: bytes | None) -> Any:
        """Return a model with these arguments and a secret key."""

    @abstractmethod
    def serve(self, model: Any) -> Served:
        """Return a model as the engine uses it."""

    @abstractmethod
    def make_decoder(self, model: Any, max_record_bytes: int, headings: Sequence[str]) -> Decoder:
        """Return a decoder that takes messages apart as a model does, and keeps these headings."""

    def learn_sent(self, model: Any, paths: Sequence[Path]) -> None:
        """Learn from messages that were sent whom they were written to, as evidence about those that come."""
        raise NotSupported(f"a {self.name} learns nothing from messages that were sent")

    # -- shown to people: what a model does not have is left out ------------------------------------------------------

    def key_of(self, model: Any) -> bytes | None:
        """Return the secret key of a model."""
        return None

    def labels_of(self, model: Any) -> Sequence[Any]:
        """Return the labels of a model."""
        return ()

    def id_of(self, raw: bytes) -> str:
        """Return the id by which a pipeline without keys finds a message."""
        return hashlib.sha256(raw).hexdigest()

    def message_in(self, x: Mapping[str, Any]) -> Any:
        """Return the message in the features of an event. Raise `BadValue` if there is none."""
        return x

    def headings_of(self, x: Mapping[str, Any], wanted: Collection[str]) -> dict[str, str]:
        """Return the headings of the message in an event."""
        return {}

    def explained(self, model: Any, message: Any) -> dict[str, Any]:
        """Return the `verdict` on a message with its `probabilities`, `score` and `evidence`, as JSON values."""
        raise NotSupported(f"a {self.name} gives no evidence")

    def described(self, model: Any) -> dict[str, Any]:
        """Return what a model has learned, as JSON values."""
        return {}

    def print_explanation(self, model: Any, file: str, json: bool) -> None:
        """Print the verdict on the message in a file, or on standard input for `-`, and the evidence."""
        raise NotSupported(f"a {self.name} gives no evidence")


# By their names in pipeline files, and by the names of their classes.
MODELS: Registry[ProductModel] = Registry("model", "models")
_CLASSES: Registry[ProductModel] = Registry("class of models", "model_classes")


def product_model_of(model: Any) -> ProductModel | None:
    """Return what a product says of a model; None for a model that no product brings."""
    for base in type(model).__mro__:
        if base.__name__ in _CLASSES and _CLASSES[base.__name__].model is base:
            return _CLASSES[base.__name__]
    return None

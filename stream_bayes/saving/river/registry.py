"""The codecs of objects by class. A state never names anything to import.

    {"class": "StandardScaler",
     "parameters": {"with_std": true, "window_size": null},
     "holds": {"counts": {...}, "means": {...}, "vars": {...}}}

A state is loaded into an object that was made from the same configuration: the class's name and the parameters are
only compared with it. An attribute without a codec is an error at the start, so that nothing is lost silently if a
version of River stores something new.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from stream_bayes.core.values.values import JSONValue, shown
from stream_bayes.errors import BadValue, CannotSave, OtherConfiguration
from stream_bayes.registry import Registry
from stream_bayes.saving.river.codecs import ListOf, ValueCodec
from stream_bayes.saving.river.location import RIVER, Location
from stream_bayes.saving.river.parameters import decode_parameter, encode_parameter, objects_in

__all__ = [
    "OBJECT",
    "OBJECTS",
    "Attributes",
    "ObjectCodec",
    "codec_of",
    "configuration_of",
    "decode_object",
    "encode_object",
    "is_known",
    "register",
    "register_alias",
    "register_base",
    "register_codec",
    "registered",
    "unseeded",
]

Holds = Mapping[str, ValueCodec]


class ObjectCodec(ABC):
    """The codec of the objects of one class."""

    @abstractmethod
    def encode(self, instance: Any, location: Location) -> dict[str, Any]:
        """Return the state of an object, without its class."""

    @abstractmethod
    def configuration(self, instance: Any, location: Location) -> dict[str, Any]:
        """Return an object's parameters, without its class."""

    @abstractmethod
    def decode(self, made: Any, saved: dict[str, Any], location: Location) -> Any:
        """Return an object of the same configuration with this state: the given one, or a replacement."""

    def parts(self, instance: Any) -> Iterator[Any]:
        """Yield the objects within."""
        return iter(())

    def fix_order(self, instance: Any) -> None:  # noqa: B027  # most orders are fixed already
        """Sort by name what River takes from a set, whose order depends on hashes."""


_CODECS: dict[type, ObjectCodec] = {}
_BASES: list[tuple[type, ObjectCodec]] = []  # for everything that is derived from a class
_NAMES: dict[type, str] = {}  # of classes that are saved under another's name

# The modules that register the classes of a package, imported on the first use of one of these. Some packages of River
# take a second to load, and a program without an object of theirs does not load them.
CODECS: Registry[ModuleType] = Registry(
    "package with codecs",
    "codecs",
    {
        "river.drift": "stream_bayes.saving.river.detectors",
        "river.metrics": "stream_bayes.saving.river.metrics",
        "river.preprocessing": "stream_bayes.saving.river.transformers",
        "river.feature_extraction": "stream_bayes.saving.river.transformers",
    },
)


def _load_codecs_of(*packages: str) -> None:
    for package in packages:
        try:
            CODECS.get(package)
        except (ImportError, AttributeError) as error:
            raise CannotSave(
                f"River {RIVER} lacks a part that saving needs: {error}; use River 0.26"
            ) from error


def _package_of(kind: type) -> str:
    return ".".join(kind.__module__.split(".")[:2])


def register_codec(kind: type, codec: ObjectCodec) -> None:
    """Register the codec of a class, but not of classes derived from it, which may hold more."""
    if _package_of(kind).partition(".")[0] not in ("river", "stream_bayes"):
        _load_codecs_of(*CODECS)  # its name might be that of any
    if any(registered.__name__ == kind.__name__ for registered in _CODECS):
        raise BadValue(f"a class named {kind.__name__} is registered already; names must be unique")
    _CODECS[kind] = codec


def register_base(base: type, codec: ObjectCodec) -> None:
    """Register the codec of every class derived from one."""
    _BASES.append((base, codec))


def register_alias(kind: type, other: type) -> None:
    """Register a class that holds the same as another under that class's codec and name."""
    _CODECS[kind] = _CODECS[other]
    _NAMES[kind] = other.__name__


def registered() -> list[type]:
    """Return every class with a codec of its own, by name."""
    _load_codecs_of(*CODECS)
    return sorted(_CODECS, key=lambda kind: kind.__name__)


def _find(instance: object) -> ObjectCodec | None:
    _load_codecs_of(_package_of(type(instance)))
    codec = _CODECS.get(type(instance))
    return codec or next((codec for base, codec in _BASES if isinstance(instance, base)), None)


def _name_of(instance: object) -> str:
    return _NAMES.get(type(instance), type(instance).__name__)


def is_known(instance: object) -> bool:
    """Return True if there is a codec for an object."""
    return _find(instance) is not None


def codec_of(instance: object, location: Location) -> ObjectCodec:
    """Return the codec of an object. Raise `CannotSave` if there is none."""
    codec = _find(instance)
    if codec is None:
        kind = type(instance)
        raise location.cannot_save(
            f"no snapshot can hold the state of a {kind.__module__}.{kind.__qualname__}: nothing is known of what it "
            "holds; use another class there, register what its objects hold, or run without snapshots"
        )
    return codec


def encode_object(instance: Any, location: Location) -> dict[str, Any]:
    """Return the state of an object, with the name of its class."""
    return {"class": _name_of(instance), **codec_of(instance, location).encode(instance, location.inside())}


def configuration_of(instance: Any, location: Location) -> dict[str, Any]:
    """Return an object's parameters, with the name of its class."""
    return {
        "class": _name_of(instance),
        **codec_of(instance, location).configuration(instance, location.inside()),
    }


def decode_object(made: Any, saved: Any, location: Location) -> Any:
    """Return an object made from the same configuration, with this state."""
    codec = codec_of(made, location)
    if not isinstance(saved, Mapping) or not isinstance(saved.get("class"), str):
        raise location.altered("the state of an object", saved)
    if saved["class"] != _name_of(made):
        raise OtherConfiguration(
            f"{location}: the snapshot was taken with a {shown(saved['class'])}, the model has a {_name_of(made)} "
            "there; use the former configuration, or start over without the snapshot"
        )
    return codec.decode(made, {key: saved[key] for key in saved if key != "class"}, location.inside())


class _Object(ValueCodec):
    """Another object, which fresh ones make for themselves."""

    def encode(self, value: Any, location: Location) -> JSONValue:
        return encode_object(value, location)

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        return decode_object(made, saved, location)


class _Objects(ListOf):
    """A list of as many objects as a fresh one makes."""

    def decode(self, saved: Any, made: Any, location: Location) -> Any:
        if len(location.items(saved)) != len(made):
            raise location.altered(f"{len(made)} objects", saved)
        return [self.kind.decode(state, one, location) for state, one in zip(saved, made, strict=True)]


OBJECT = _Object()
OBJECTS = _Objects(OBJECT)


class Attributes(ObjectCodec):
    """The codec of a class whose objects keep what they learn in attributes, and their parameters too.

    `holds` are the codecs of the attributes that change, or a function that returns them for an object; `derived` the
    attributes that follow from the parameters, or from others. `parameters` are functions that read a parameter stored
    under another name; None for one that is not stored. `fits` returns True if the attributes are consistent, `refused`
    why an object cannot be saved, or None. For `fix_order` see `ObjectCodec.fix_order`.
    """

    def __init__(
        self,
        kind: type,
        holds: Holds | Callable[[Any], Holds] | None = None,
        *,
        derived: Iterable[str] = (),
        parameters: Mapping[str, Callable[[Any], Any] | None] | None = None,
        fits: Callable[[Any], bool] = lambda _: True,
        fix_order: Callable[[Any], None] = lambda _: None,
        refused: Callable[[Any], str | None] = lambda _: None,
    ) -> None:
        arguments = inspect.signature(kind).parameters
        readers = {name: _attribute(name) for name in arguments} | dict(parameters or {})
        self.readers = {name: read for name, read in readers.items() if read}
        self.attribute_names = {*arguments, *derived}
        self.holds = holds if callable(holds) else lambda _: holds or {}
        self.fits = fits
        self._fix_order = fix_order
        self.refused = refused

    def encode(self, instance: Any, location: Location) -> dict[str, Any]:
        holds = self.holds(instance)
        self._check_attributes(instance, holds, location)
        why = self.refused(instance)
        if why is not None:
            raise location.cannot_save(why)
        return {
            "parameters": self._parameters(instance, location, encode_object),
            "holds": {
                name: kind.encode(vars(instance)[name], location.at(name)) for name, kind in holds.items()
            },
        }

    def configuration(self, instance: Any, location: Location) -> dict[str, Any]:
        return {"parameters": self._parameters(instance, location, configuration_of)}

    def _parameters(
        self, instance: Any, location: Location, write: Callable[[Any, Location], Any]
    ) -> dict[str, Any]:
        return {
            name: encode_parameter(read(instance), location.at(name), is_known, write)
            for name, read in self.readers.items()
        }

    def _check_attributes(self, instance: Any, holds: Holds, location: Location) -> None:
        unknown = vars(instance).keys() - self.attribute_names - holds.keys()
        missing = holds.keys() - vars(instance).keys()
        if unknown or missing:
            raise location.other_parts(instance, ", ".join(sorted(unknown | missing)))

    def decode(self, made: Any, saved: dict[str, Any], location: Location) -> Any:
        parameters, attributes = location.fields(saved, "parameters", "holds")
        values = location.fields(parameters, *self.readers)
        for (name, read), value in zip(self.readers.items(), values, strict=True):
            decode_parameter(read(made), value, location.at(name), is_known, decode_object)
        holds = self.holds(made)
        self._check_attributes(made, holds, location)
        for (name, kind), value in zip(holds.items(), location.fields(attributes, *holds), strict=True):
            setattr(made, name, kind.decode(value, vars(made)[name], location.at(name)))
        if not self.fits(made):
            raise location.altered("parts that fit together", attributes)
        return made

    def parts(self, instance: Any) -> Iterator[Any]:
        for read in self.readers.values():
            yield from objects_in(read(instance), is_known)
        for name, kind in self.holds(instance).items():
            if kind is OBJECT:
                yield vars(instance)[name]
            elif kind is OBJECTS:
                yield from vars(instance)[name]

    def fix_order(self, instance: Any) -> None:
        self._fix_order(instance)


def _attribute(name: str) -> Callable[[Any], Any]:
    return lambda instance: vars(instance)[name] if name in vars(instance) else getattr(instance, name)


def unseeded(instance: Any) -> str | None:
    """Return why an object with its own random numbers cannot be saved; None if it has a seed."""
    if instance.seed is not None:
        return None
    return "it has no seed, so no run could ever be repeated; give it one"


def register(kind: type, holds: Holds | Callable[[Any], Holds] | None = None, **others: Any) -> None:
    """Register the attributes of a class's objects, so that snapshots can hold them; the parameters are `Attributes`'.

    Your own class that learns nothing needs no more than its name:

    Examples
    --------
    >>> from river import base
    >>> class Doubler(base.Transformer):
    ...     def transform_one(self, x):
    ...         return {name: 2 * value for name, value in x.items()}
    >>> register(Doubler)
    >>> encode_object(Doubler(), Location())
    {'class': 'Doubler', 'parameters': {}, 'holds': {}}
    """
    register_codec(kind, Attributes(kind, holds, **others))

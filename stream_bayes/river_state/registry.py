"""For each class, what its objects hold: a table of codecs. A state never names anything to import.

    {"class": "StandardScaler",
     "parameters": {"with_std": true, "window_size": null},
     "holds": {"counts": {...}, "means": {...}, "vars": {...}}}

A state is given back to an object that was made from the same configuration: the class's name and the parameters are
compared with it, and decide nothing. An attribute that no codec tells of is an error at start, so that a version of
River that keeps something new does not silently lose it.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from stream_bayes.core.values.values import JSONValue, shown
from stream_bayes.errors import BadValue, OtherConfiguration
from stream_bayes.river_state.codecs import Kind, Listed
from stream_bayes.river_state.location import Place
from stream_bayes.river_state.parameters import objects_within, restore_parameter, written_parameter

__all__ = [
    "OBJECT",
    "OBJECTS",
    "Attributes",
    "Codec",
    "codec_of",
    "configuration_of",
    "is_known",
    "register",
    "registered",
    "restored_object",
    "saved_object",
    "told_by",
    "unseeded",
    "use",
    "use_as",
    "use_for_derived",
]

Holds = Mapping[str, Kind]


class Codec(ABC):
    """What the objects of one class hold, and how to give it back."""

    @abstractmethod
    def saved(self, held: Any, place: Place) -> dict[str, Any]:
        """The state of an object, without its class."""

    @abstractmethod
    def configured(self, held: Any, place: Place) -> dict[str, Any]:
        """What an object was made with, without its class."""

    @abstractmethod
    def restored(self, made: Any, saved: dict[str, Any], place: Place) -> Any:
        """An object of the same configuration with this state: the one that was made, or one in its place."""

    def parts(self, held: Any) -> Iterator[Any]:
        """The objects within."""
        return iter(())

    def settle(self, held: Any) -> None:  # noqa: B027  # most have nothing to settle
        """Make an order that River leaves to a set, and so to hashes, the order of the names."""


_CODECS: dict[type, Codec] = {}
_BASES: list[tuple[type, Codec]] = []  # for everything that is derived from a class
_NAMES: dict[type, str] = {}  # where a class goes by another's
_TOLD_BY: dict[
    str, str
] = {}  # packages whose classes no codec was looked for, and the module with their codecs


def told_by(module: str, *packages: str) -> None:
    """Import a module, which registers the classes of some packages, once a codec is looked for in one of these.

    Whoever has no object of such a class then does without the package, too: some of River's load for a second.
    """
    _TOLD_BY.update(dict.fromkeys(packages, module))


def _learn_of(*packages: str) -> None:
    for package in packages:
        if package in _TOLD_BY:
            import_module(
                _TOLD_BY[package]
            )  # harmless where it is being imported, or another thread has done it
            _TOLD_BY.pop(package, None)


def _package_of(kind: type) -> str:
    return ".".join(kind.__module__.split(".")[:2])


def use(kind: type, codec: Codec) -> None:
    """Let a codec speak for a class, and for no class derived from it, which may hold more."""
    if _package_of(kind).partition(".")[0] not in ("river", "stream_bayes"):
        _learn_of(*_TOLD_BY)  # its name might be that of any
    if any(known.__name__ == kind.__name__ for known in _CODECS):
        raise BadValue(f"a class named {kind.__name__} is registered already; names tell classes apart")
    _CODECS[kind] = codec


def use_for_derived(base: type, codec: Codec) -> None:
    """Let a codec speak for every class derived from one."""
    _BASES.append((base, codec))


def use_as(kind: type, other: type) -> None:
    """Let the codec of another class speak for one that holds the same, and call it by that class's name."""
    _CODECS[kind] = _CODECS[other]
    _NAMES[kind] = other.__name__


def registered() -> list[type]:
    """Every class with a codec of its own, by name."""
    _learn_of(*_TOLD_BY)
    return sorted(_CODECS, key=lambda kind: kind.__name__)


def _find(held: object) -> Codec | None:
    _learn_of(_package_of(type(held)))
    codec = _CODECS.get(type(held))
    return codec or next((codec for base, codec in _BASES if isinstance(held, base)), None)


def _name_of(held: object) -> str:
    return _NAMES.get(type(held), type(held).__name__)


def is_known(held: object) -> bool:
    """Whether there is a codec for an object."""
    return _find(held) is not None


def codec_of(held: object, place: Place) -> Codec:
    """The codec for an object; `CannotSave` without one."""
    codec = _find(held)
    if codec is None:
        kind = type(held)
        raise place.cannot(
            f"no snapshot can hold the state of a {kind.__module__}.{kind.__qualname__}: nothing is known of what it "
            "holds; use another class there, register what its objects hold, or run without snapshots"
        )
    return codec


def saved_object(held: Any, place: Place) -> dict[str, Any]:
    """The state of an object, with the name of its class."""
    return {"class": _name_of(held), **codec_of(held, place).saved(held, place.inside())}


def configuration_of(held: Any, place: Place) -> dict[str, Any]:
    """What an object was made with, with the name of its class."""
    return {"class": _name_of(held), **codec_of(held, place).configured(held, place.inside())}


def restored_object(made: Any, saved: Any, place: Place) -> Any:
    """An object that was made from the same configuration, with this state."""
    codec = codec_of(made, place)
    if not isinstance(saved, Mapping) or not isinstance(saved.get("class"), str):
        raise place.wrong("the state of an object", saved)
    if saved["class"] != _name_of(made):
        raise OtherConfiguration(
            f"{place}: the snapshot was taken with a {shown(saved['class'])}, the model has a {_name_of(made)} "
            "there; use the former configuration, or begin anew without the snapshot"
        )
    return codec.restored(made, {key: saved[key] for key in saved if key != "class"}, place.inside())


class _Object(Kind):
    """Another object, which fresh ones make for themselves."""

    def saved(self, held: Any, place: Place) -> JSONValue:
        return saved_object(held, place)

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        return restored_object(made, saved, place)


class _Objects(Listed):
    """A list of as many objects as a fresh one makes."""

    def loaded(self, saved: Any, made: Any, place: Place) -> Any:
        if len(place.items(saved)) != len(made):
            raise place.wrong(f"{len(made)} objects", saved)
        return [self.kind.loaded(item, one, place) for item, one in zip(saved, made, strict=True)]


OBJECT = _Object()
OBJECTS = _Objects(OBJECT)


class Attributes(Codec):
    """The codec of a class whose objects keep what they learn in attributes, and their parameters too.

    Parameters
    ----------
    kind
        The class.
    holds
        What each attribute that changes holds; or a function that tells it of an object.
    derived
        Attributes that follow from the parameters, or from others.
    parameters
        How to read a parameter that is not kept under its own name; None for one that is not kept at all.
    fits
        Whether the attributes can stand together.
    settle
        See `Codec.settle`.
    refused
        Why an object cannot be saved, if it cannot.
    """

    def __init__(
        self,
        kind: type,
        holds: Holds | Callable[[Any], Holds] | None = None,
        *,
        derived: Iterable[str] = (),
        parameters: Mapping[str, Callable[[Any], Any] | None] | None = None,
        fits: Callable[[Any], bool] = lambda _: True,
        settle: Callable[[Any], None] = lambda _: None,
        refused: Callable[[Any], str | None] = lambda _: None,
    ) -> None:
        own = inspect.signature(kind).parameters
        readers = {name: _attribute(name) for name in own} | dict(parameters or {})
        self.readers = {name: read for name, read in readers.items() if read}
        self.known = {*own, *derived}
        self.holds = holds if callable(holds) else lambda _: holds or {}
        self.fits = fits
        self._settle = settle
        self.refused = refused

    def saved(self, held: Any, place: Place) -> dict[str, Any]:
        holds = self.holds(held)
        self._check_attributes(held, holds, place)
        why = self.refused(held)
        if why is not None:
            raise place.cannot(why)
        return {
            "parameters": self._parameters(held, place, saved_object),
            "holds": {name: kind.saved(vars(held)[name], place.at(name)) for name, kind in holds.items()},
        }

    def configured(self, held: Any, place: Place) -> dict[str, Any]:
        return {"parameters": self._parameters(held, place, configuration_of)}

    def _parameters(self, held: Any, place: Place, write: Callable[[Any, Place], Any]) -> dict[str, Any]:
        return {
            name: written_parameter(read(held), place.at(name), is_known, write)
            for name, read in self.readers.items()
        }

    def _check_attributes(self, held: Any, holds: Holds, place: Place) -> None:
        unknown = vars(held).keys() - self.known - holds.keys()
        missing = holds.keys() - vars(held).keys()
        if unknown or missing:
            raise place.cannot(
                f"a {type(held).__name__} of this version of River has not the attributes that are known here: "
                f"{', '.join(sorted(unknown | missing))}; use the River version this package asks for"
            )

    def restored(self, made: Any, saved: dict[str, Any], place: Place) -> Any:
        parameters, held = place.fields(saved, "parameters", "holds")
        values = place.fields(parameters, *self.readers)
        for (name, read), value in zip(self.readers.items(), values, strict=True):
            restore_parameter(read(made), value, place.at(name), is_known, restored_object)
        holds = self.holds(made)
        for (name, kind), value in zip(holds.items(), place.fields(held, *holds), strict=True):
            setattr(made, name, kind.loaded(value, vars(made)[name], place.at(name)))
        if not self.fits(made):
            raise place.wrong("parts that fit together", held)
        return made

    def parts(self, held: Any) -> Iterator[Any]:
        for read in self.readers.values():
            yield from objects_within(read(held), is_known)
        for name, kind in self.holds(held).items():
            if kind is OBJECT:
                yield vars(held)[name]
            elif kind is OBJECTS:
                yield from vars(held)[name]

    def settle(self, held: Any) -> None:
        self._settle(held)


def _attribute(name: str) -> Callable[[Any], Any]:
    return lambda held: vars(held)[name] if name in vars(held) else getattr(held, name)


def unseeded(held: Any) -> str | None:
    """Why an object with random numbers of its own cannot be saved."""
    if held.seed is not None:
        return None
    return "it has no seed, so no run could ever be repeated; give it one"


def register(kind: type, holds: Holds | Callable[[Any], Holds] | None = None, **others: Any) -> None:
    """Tell what the objects of a class hold, so that snapshots can hold them; the parameters are `Attributes`'.

    A class of one's own that learns nothing needs no more than its name:

    Examples
    --------
    >>> from river import base
    >>> class Doubler(base.Transformer):
    ...     def transform_one(self, x):
    ...         return {name: 2 * value for name, value in x.items()}
    >>> register(Doubler)
    >>> saved_object(Doubler(), Place())
    {'class': 'Doubler', 'parameters': {}, 'holds': {}}
    """
    use(kind, Attributes(kind, holds, **others))

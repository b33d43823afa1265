"""Groups of options that several commands share: a dataclass whose fields are the options.

A command takes a group as one parameter, and `flattened` gives the command line each option of it:

    def train(file: File, data: DataOptions, json: JSON = False) -> None: ...

    app.command()(flattened(train))
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_type_hints

__all__ = ["arguments_of", "flattened"]


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the options of each group one by one.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Range:
    ...     low: int = 0
    ...     high: int = 9
    >>> def count(name: str, range: Range) -> None:
    ...     print(name, range)
    >>> inspect.signature(flattened(count))
    <Signature (*, name: str, low: int = 0, high: int = 9)>
    >>> flattened(count)(name="a", low=3, high=9)
    a Range(low=3, high=9)
    """
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[type, list[str]]] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        group = parameter.annotation
        if not (isinstance(group, type) and is_dataclass(group)):
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(group, include_extras=True)
        options = fields(group)
        groups[parameter.name] = group, [option.name for option in options]
        parameters += [
            inspect.Parameter(
                option.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_default_of(option),
                annotation=hints[option.name],
            )
            for option in options
        ]

    def flat(**given: Any) -> None:
        for name, (group, options) in groups.items():
            given[name] = group(**{option: given.pop(option) for option in options})
        command(**given)

    flat.__name__, flat.__doc__, flat.__module__ = command.__name__, command.__doc__, command.__module__
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # `inspect` reads it
    return flat


def arguments_of(options: Any, group: type | None = None) -> list[str]:
    """Return the arguments by which a command line gives a group its values; none for those at their default. `options`
    is an object of a group. `group` is a base class whose options alone are returned; by default all are.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Range:
    ...     low_end: int = 0
    ...     high: int = 9
    >>> arguments_of(Range(low_end=3))
    ['--low-end', '3']
    """
    group = type(options) if group is None else group
    hints = get_type_hints(group, include_extras=True)
    arguments: list[str] = []
    for option in fields(group):
        value = getattr(options, option.name)
        if value == _default_of(option):
            continue
        declared = getattr(hints[option.name], "__metadata__", ())
        names = declared[0].param_decls if declared else ()
        positive, _, negative = (names[0] if names else "--" + option.name.replace("_", "-")).partition("/")
        if isinstance(value, bool):
            arguments.append(positive if value else negative)
        else:
            for each in value if isinstance(value, list) else [value]:
                arguments += [positive, str(each)]
    return arguments


def _default_of(option: Field[Any]) -> Any:
    if option.default_factory is not MISSING:
        return option.default_factory()
    return inspect.Parameter.empty if option.default is MISSING else option.default

"""Errors for names that do not exist, with the nearest one, and for variables without a value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stream_bayes.checked_names import nearest
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadValue, NoValueKnown, UnknownFeature

__all__ = ["check_variables", "did_you_mean", "no_value_of", "unknown_label", "unknown_variable"]


def did_you_mean(name: object, names: Iterable[Value], rest: str = "") -> str:
    """Return "; did you mean ...? Rest" if a name is near, otherwise "; rest".

    Examples
    --------
    >>> did_you_mean("Effect", ["cause", "effect"], "there are two")
    "; did you mean 'effect'? There are two"
    >>> did_you_mean("moon", ["cause", "effect"], "there are two")
    '; there are two'
    """
    by_text = {str(each): each for each in names}
    near = nearest(str(name), by_text)
    return (
        f"; {rest}"
        if near is None
        else f"; did you mean {shown(by_text[near])}? {rest[:1].upper()}{rest[1:]}"
    )


def unknown_variable(
    name: object, variables: Iterable[Value], where: str = "", hint: str = "", whole: str = "the network"
) -> UnknownFeature:
    """Return the error for a name that is no variable. `where` is the argument that has the name, `hint` more to do
    about it, `whole` what has the variables.

    Examples
    --------
    >>> print(unknown_variable("Effect", ["cause", "effect"], "tiers"))
    tiers: the network has no variable 'Effect'; did you mean 'effect'? Its variables: ['cause', 'effect']
    """
    listed = list(variables)
    rest = did_you_mean(name, listed, f"its variables: {shown(listed)}")
    return UnknownFeature(f"{f'{where}: ' if where else ''}{whole} has no variable {shown(name)}{rest}{hint}")


def check_variables(
    names: Iterable[object], variables: Iterable[Value], where: str, whole: str = "the network"
) -> None:
    """Raise `UnknownFeature` for the first name that is no variable."""
    listed = list(variables)
    for name in names:
        if name not in listed:
            raise unknown_variable(name, listed, where, whole=whole)


def no_value_of(variables: Sequence[object], whole: str = "the network") -> NoValueKnown:
    """Return the error for a question about variables without any value yet; without variables, about all of a model.

    Examples
    --------
    >>> print(no_value_of(["rain"]))
    no value of 'rain' is known yet; learn events that have it, or declare its values in a schema
    >>> print(no_value_of([]))
    the network has no variables yet; learn events first
    """
    if not variables:
        return NoValueKnown(f"{whole} has no variables yet; learn events first")
    names, it, its = (
        ", ".join(map(shown, variables)),
        *(("it", "its") if len(variables) == 1 else ("them", "their")),
    )
    return NoValueKnown(
        f"no value of {names} is known yet; learn events that have {it}, or declare {its} values in a schema"
    )


def unknown_label(variable: Value, value: object, labels: Iterable[Value]) -> BadValue:
    """Return the error for evidence that a variable does not have.

    Examples
    --------
    >>> print(unknown_label("rain", "yess", ["yes", "no"]))
    evidence on 'rain': expected one of ('yes', 'no'), or a dict with a likelihood for each of them, got 'yess'; did you
    mean 'yes'?
    """
    expected = tuple(labels)
    return BadValue(
        f"evidence on {shown(variable)}: expected one of {shown(expected)}, or a dict with a likelihood for each of "
        f"them, got {shown(value)}{did_you_mean(value, expected)}"
    )

"""Messages about a pipeline file: a line for each invalid key, with the allowed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from stream_bayes.checked_names import closest
from stream_bayes.streams.pipelines.products import SINKS, SOURCES

__all__ = ["lines_of"]

# Messages by pydantic's type of error; the fields in braces come from its context.
MESSAGES = {
    "missing": "is missing",
    "string_type": "expected text",
    "path_type": "expected a path, as text",
    "int_type": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "finite_number": "expected a number",
    "bool_type": "expected true or false",
    "list_type": "expected a list, as in [1, 2]",
    "dict_type": "expected a table, as in {{ name = 1 }}",
    "model_type": "expected a table",
    "literal_error": "expected {expected}",
    "greater_than_equal": "expected at least {ge:g}",
    "greater_than": "expected more than {gt:g}",
    "less_than_equal": "expected at most {le:g}",
    "less_than": "expected less than {lt:g}",
    "string_too_short": "expected some text",
}
# Messages for texts that do not match a pattern, by the last part of their key.
PATTERNS = {
    "name": "expected letters, digits, '.', '_' and '-', of which the first is a letter or a digit; at most 100",
    "delimiter": 'expected one character, or "tab"',
    "thousands": "expected one of . , _ ' and a blank, or nothing",
    "topic": "expected a topic's name: letters, digits, '.', '_' and '-', without blanks; at most 249",
}
# Parts of a path that are not keys, but pydantic's choices of a type.
TYPES = {"str", "int", "float", "bool"}


def lines_of(error: ValidationError, table: Mapping[str, Any], root: type[BaseModel]) -> list[str]:
    """Return a line for each invalid key. `table` is the file, `root` the class of a whole file."""
    messages: dict[str, list[str]] = {}
    for problem in error.errors(include_url=False, include_input=False):
        key, text = _described(problem, table, root)
        if text is not None and text not in messages.setdefault(key, []):
            messages[key].append(text)
    return [f"{key}: {_joined(texts)}" if key else _joined(texts) for key, texts in messages.items() if texts]


def _joined(texts: Sequence[str]) -> str:
    """Join several complaints about one value, one for each type that it might have had."""
    if len(texts) > 1 and all(text.startswith("expected ") for text in texts):
        return "expected " + ", or ".join(text.removeprefix("expected ") for text in texts)
    return "; ".join(texts)


def _described(problem: Any, table: Mapping[str, Any], root: type[BaseModel]) -> tuple[str, str | None]:
    """Return the key of a problem and its description; None if another choice describes it better."""
    path = [str(part) for part in problem["loc"]]
    keys, value, choices = _location(path, table)
    key = ".".join(keys)
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        names = _keys(_model_at(path[:-1], table, root))
        return key, f"is not a key here{closest(path[-1], names)} There are {', '.join(names)}"
    if kind == "union_tag_invalid":
        allowed = [tag.strip("'") for tag in context["expected_tags"].split(", ")]
        tag = context["tag"]
        return f"{key}.kind", f"there is no {tag!r}{closest(tag, allowed)} There are {', '.join(allowed)}"
    if choices and any(choice.startswith("literal") for choice in choices) and isinstance(value, Mapping):
        return key, None  # it is the table of the other choice that is wrong
    if kind == "literal_error" and isinstance(value, str):
        allowed = [name.strip("'") for name in context["expected"].replace(" or ", ", ").split(", ")]
        return key, f"there is no {value!r}{closest(value, allowed)} There are {', '.join(allowed)}"
    if kind == "union_tag_not_found":
        return key, "kind is missing"
    if kind in ("model_type", "model_attributes_type") and choices and isinstance(value, str):
        return key, None  # a name was meant: the other choice lists them
    if kind == "string_pattern_mismatch":
        return key, PATTERNS[keys[-1]]
    text = MESSAGES.get("model_type" if kind == "model_attributes_type" else kind)
    if text is not None:
        return key, text.format(**context)
    text = problem["msg"].removeprefix("Value error, ")
    return key, f"{text[0].lower()}{text[1:]}"


def _location(path: Sequence[str], table: Mapping[str, Any]) -> tuple[list[str], Any, list[str]]:
    """Return the keys of a path in the file, the value there, and the choices of types that the path names besides."""
    keys: list[str] = []
    choices: list[str] = []
    value: Any = table
    for part in path:
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit():
            value = value[int(part)]
        elif _is_choice(part):
            choices.append(part)
            continue
        keys.append(part)
    return keys, value, choices


def _is_choice(part: str) -> bool:
    return (
        part in TYPES
        or part in {*SOURCES, *SINKS, "nominal", "numeric"}
        or part.startswith(("literal", "function-", "FeatureConfig"))
    )


def _keys(model: Any) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_at(path: Sequence[str], table: Mapping[str, Any], root: type[BaseModel]) -> Any:
    """Return the class of the table at a path in the file."""
    model: Any = root
    value: Any = table
    for part in path:
        if isinstance(value, Mapping) and part in value:
            value = value[part]
            model = _inner(model, part, value)
    return model


def _inner(model: Any, key: str, value: Any) -> Any:
    """Return the class of the table under a key; of several, the one of its kind."""
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return model
    for name, field in model.model_fields.items():
        if (field.alias or name) == key:
            return _choice(field.annotation, value)
    return model


def _choice(annotation: Any, value: Any) -> Any:
    """Return the class in an annotation; of several, the one for the given kind."""
    if isinstance(annotation, type):
        return annotation
    choices = [choice for part in get_args(annotation) if isinstance(choice := _choice(part, value), type)]
    models = [choice for choice in choices if issubclass(choice, BaseModel)]
    kind = value.get("kind") if isinstance(value, Mapping) else None
    for choice in models:
        field = choice.model_fields.get("kind")
        if field is not None and kind in get_args(field.annotation):
            return choice
    return models[0] if models else None

"""Style sheets of a page: the rules that hold for an element, by its tag, classes, id, attributes and what is around.

    ".note b, #top > p {display: none}"  ->  for <b> anywhere in class="note", and for <p> right in id="top"

Rules count by CSS's order: important ones last, then by specificity, then as written. Conditions are those of a reader
at a desk: a sheet for print or for small screens does not hold. Selectors by siblings, places and states are skipped.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from stream_bayes.mail.text._pages import attributes_of
from stream_bayes.mail.text.entities import unescaped
from stream_bayes.mail.text.styles import (
    PLAIN,
    Declarations,
    Style,
    clean_css,
    declarations_of,
    declare,
    is_evident,
    style_of_declared,
)

__all__ = ["Element", "Sheet", "element_of", "holds_at_a_desk"]

MAX_RULES: Final = 500  # of a sheet
MAX_SELECTORS: Final = 20  # of a rule
MAX_SELECTORS_OF_PAGE: Final = 600  # selectors of a page
MAX_COMPOUNDS: Final = 6  # of a selector
MAX_TESTS: Final = 5_000  # of an element against a part of a selector, in one page
DESK: Final = 1_000.0  # dots of width

_BRACE = re.compile(r"[{}]")
_COMPOUND = re.compile(
    r"\s*(>?)\s*(\*|[a-z][a-z0-9]{0,15})?((?:[.#][^\s.#\[\]:>+~*,]{1,60}|\[[^\[\]]{1,80}\]|:link\b){0,8})(?=[\s>]|\Z)"
)
_CONDITION = re.compile(
    r"([.#][^\s.#\[\]:>+~*,]{1,60})|\[\s*([\w-]{1,30})\s*(?:([~|^$*]?)=\s*[\"']?([^\"'\]]{0,60}))?"
)
_WIDTH = re.compile(r"\(\s*min-(?:device-)?width\s*:\s*(\d{1,6}\.?\d{0,3})\s*(px|r?em)?\s*\)")


class Element(NamedTuple):
    """An element as selectors test it."""

    name: str
    keys: frozenset[str]  # ".class" and "#id"
    attributes: dict[str, str]
    declared: Declarations  # by its attributes but `style`
    inline: Declarations
    inline_important: Declarations


class Compound(NamedTuple):
    """The part of a selector for one element."""

    is_child: bool  # of the element of the part before; otherwise anywhere in it
    name: str  # "" for any
    keys: frozenset[str]
    attributes: tuple[tuple[str, str, str], ...]  # name, operator, value

    def holds(self, element: Element) -> bool:
        """Return True for an element of this tag, with these classes and attributes."""
        if (self.name and self.name != element.name) or not self.keys <= element.keys:
            return False
        return all(
            name in element.attributes and _compares(operator, element.attributes[name].lower(), value)
            for name, operator, value in self.attributes
        )


class SheetRule(NamedTuple):
    """The declarations of one selector."""

    specificity: tuple[int, int, int]
    compounds: tuple[Compound, ...]  # from outside in
    declared: Declarations
    important: Declarations


class Sheet:
    """The rules of a page's style sheets that may hide or show text."""

    def __init__(self, text: str = "") -> None:
        self.rules: dict[
            str, list[tuple[int, SheetRule]]
        ] = {}  # by an id, a class or the tag of the element, or ""
        self.has_context = False  # some rule depends on the elements around
        self.tests_left = MAX_TESTS
        self.selectors = 0
        self.is_cut = False  # some rules are left out
        # The rules that may hold, by name and attributes, and the places of those that depend on the elements around.
        self.candidates: dict[tuple[str, str], tuple[list[SheetRule], tuple[int, ...]]] = {}
        self.styles: dict[
            tuple[tuple[str, str], tuple[int, ...]], Style
        ] = {}  # and by the rules that do not hold
        self.of_declared: dict[tuple[tuple[str, str], ...], Style] = {}
        if text:
            self._read(clean_css(text).replace("<!--", " ").replace("-->", " "))

    def _read(self, text: str) -> None:
        blocks: list[str] = []  # the preludes of the blocks that are open
        start = count = 0
        for match in _BRACE.finditer(text):
            inner, start = text[start : match.start()], match.end()
            if match[0] == "{":
                blocks.append(inner.rpartition(";")[2].strip())
                continue
            prelude = blocks.pop() if blocks else "@"
            if prelude.startswith("@") or not all(_is_met(block) for block in blocks):
                continue
            count += 1
            if count > MAX_RULES:
                self.is_cut = True
                break
            declared, important = declarations_of(inner)
            if is_evident(declared) or is_evident(important):
                for selector in prelude.split(",", MAX_SELECTORS)[:MAX_SELECTORS]:
                    self._add(selector.strip(), declared, important, count)

    def _add(self, selector: str, declared: Declarations, important: Declarations, count: int) -> None:
        compounds = _compounds_of(selector)
        if not compounds:
            return
        self.selectors += 1
        if self.selectors > MAX_SELECTORS_OF_PAGE:
            self.is_cut = True
            return
        last = compounds[-1]
        self.has_context = self.has_context or len(compounds) > 1
        ids = sum(key[0] == "#" for one in compounds for key in one.keys)
        classes = sum(len(one.keys) + len(one.attributes) for one in compounds) - ids
        rule = SheetRule(
            (ids, classes, sum(bool(one.name) for one in compounds)), compounds, declared, important
        )
        key = min(last.keys, default=last.name)
        self.rules.setdefault(key, []).append((count, rule))

    def style_of(self, name: str, attributes: str, around: list[tuple[str, str]]) -> Style:
        """Return the style of an element within others, given by their names and attributes, the outermost first."""
        key = (name, attributes)
        entry = self.candidates.get(key)
        if entry is None:
            rules = self._candidates(element_of(name, attributes))
            contexts = tuple(index for index, rule in enumerate(rules) if len(rule.compounds) > 1)
            entry = self.candidates[key] = rules, contexts
        rules, contexts = entry
        if contexts:
            elements = [element_of(*outer) for outer in around]
            contexts = tuple(
                index for index in contexts if not self._is_within(rules[index].compounds, elements)
            )
        style = self.styles.get((key, contexts))
        if style is None:
            holding = (
                [rule for index, rule in enumerate(rules) if index not in contexts] if contexts else rules
            )
            style = self.styles[key, contexts] = self._style_by(holding, element_of(name, attributes))
        return style

    def _style_by(self, rules: list[SheetRule], element: Element) -> Style:
        """Return the style of an element by the rules that hold for it, the strongest last, and by its attributes."""
        strongest = dict(element.declared)
        for declared in (
            *(rule.declared for rule in rules),
            element.inline,
            *(rule.important for rule in rules),
            element.inline_important,
        ):
            if declared:
                declare(strongest, declared)
        if not is_evident(strongest):
            return PLAIN
        key = tuple(strongest.items())
        style = self.of_declared.get(key)
        if style is None:
            style = self.of_declared[key] = style_of_declared(strongest)
        return style

    def _candidates(self, element: Element) -> list[SheetRule]:
        """Return the rules whose last part holds for an element, those that count most last."""
        ranked: list[tuple[tuple[int, int, int], int, SheetRule]] = []
        if self.tests_left < 0:
            return []
        for key in (*sorted(element.keys), element.name, ""):
            for count, rule in self.rules.get(key, ()):
                self.tests_left -= 1
                if self.tests_left < 0:
                    return []
                if rule.compounds[-1].holds(element):
                    ranked.append((rule.specificity, count, rule))
        return [rule for *_, rule in sorted(ranked, key=lambda one: one[:2])]

    def _is_within(self, compounds: tuple[Compound, ...], around: list[Element]) -> bool:
        """Return True if the parts of a selector but the last hold for elements around, in this order."""
        if len(compounds) == 1:
            return True
        least = max(len(around) - 1, 0) if compounds[-1].is_child else 0
        for depth in range(len(around) - 1, least - 1, -1):
            self.tests_left -= 1
            if self.tests_left < 0:
                return False
            if compounds[-2].holds(around[depth]) and self._is_within(compounds[:-1], around[:depth]):
                return True
        return False


@lru_cache(maxsize=8192)
def element_of(name: str, attributes: str) -> Element:
    """Return an element as selectors test it, with what its attributes declare."""
    declared: Declarations = {}
    inline: tuple[Declarations, Declarations] = ({}, {})
    keys: list[str] = []
    pairs: dict[str, str] = {}
    for attribute, value in attributes_of(attributes, 0) if attributes and not attributes.isspace() else []:
        pairs.setdefault(attribute, value)  # of two with one name the first counts
    for attribute, value in pairs.items():
        if attribute == "style":
            inline = declarations_of(unescaped(value))
        elif attribute == "class":
            keys += [f".{word}" for word in value.lower().split()[:10]]
        elif attribute == "id":
            keys.append(f"#{value.lower().strip()}")
        elif attribute in ("color", "text"):
            declared["color"] = value.lower()
        elif attribute == "bgcolor":
            declared["background-color"] = value.lower()
        elif attribute == "background":
            declared["background-image"] = value
        elif attribute == "hidden":
            declared["display"] = "none"
    return Element(name, frozenset(keys), pairs, declared, *inline)


def _compares(operator: str, value: str, wanted: str) -> bool:
    """Return True if an attribute's value is as a selector wants it; "" asks for the attribute alone."""
    if operator == "=":
        return value == wanted
    if operator == "~=":
        return wanted in value.split()
    if operator == "|=":
        return value == wanted or value.startswith(wanted + "-")
    if operator == "^=":
        return bool(wanted) and value.startswith(wanted)
    if operator == "$=":
        return bool(wanted) and value.endswith(wanted)
    return not operator or (bool(wanted) and wanted in value)


def _compounds_of(selector: str) -> tuple[Compound, ...]:
    """Return the parts of a selector; none for one that is not read."""
    compounds: list[Compound] = []
    start = 0
    while start < len(selector):
        match = _COMPOUND.match(selector, start)
        if (
            match is None
            or match.end() == start
            or len(compounds) == MAX_COMPOUNDS
            or not (match[2] or match[3])
        ):
            return ()
        keys: list[str] = []
        attributes: list[tuple[str, str, str]] = []
        for key, name, operator, value in _CONDITION.findall(match[3]):
            if key:
                keys.append(key)
            else:
                has_value = "=" in match[3] and (operator or value)
                attributes.append((name, f"{operator}=" if has_value else "", value.strip()))
        if ":link" in match[3]:
            attributes.append(("href", "", ""))
        name = "" if match[2] in (None, "*") else match[2]
        compounds.append(Compound(match[1] == ">", name, frozenset(keys), tuple(attributes)))
        start = match.end()
    return tuple(compounds)


def _is_met(block: str) -> bool:
    """Return True if the rules in a block such as `@media screen` hold for a reader at a desk."""
    name, _, condition = block.partition(" ")
    if name.startswith("@media"):
        return holds_at_a_desk(block[6:])
    if name == "@supports":
        return not condition.strip().startswith("not")
    return name == "@layer"


def holds_at_a_desk(media: str) -> bool:
    """Return True if a list of media includes a large screen.

    Examples
    --------
    >>> [holds_at_a_desk(media) for media in ("screen", "print", "print, all", "(min-width:1px)", "(max-width:480px)")]
    [True, False, True, True, False]
    """
    return any(_is_desk(query.lower()) for query in media.split(",", 10)[:10])


def _is_desk(query: str) -> bool:
    widths = [float(width) * (16.0 if "em" in unit else 1.0) for width, unit in _WIDTH.findall(query)]
    rest = _WIDTH.sub("", query).split()
    return all(width <= DESK for width in widths) and set(rest) <= {"only", "screen", "all", "and"}

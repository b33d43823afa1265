"""XML as a tree of elements with their lines: no entities of the file's own, nothing from outside, a bounded depth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from stream_bayes.errors import BadFormat

__all__ = ["XmlElement", "parse_xml", "xml_attribute", "xml_content"]

MOST_DEEP = 64  # elements in elements
# Elements, attributes and pieces of text of a file: each takes more memory than its bytes.
MOST_PARTS = 1_000_000


@dataclass(slots=True)
class XmlElement:
    """An element: its tag, attributes, elements and text, and the line where it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    elements: list[XmlElement] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text right inside it, without white space around it."""
        return "".join(self.pieces).strip()

    def named(self, tag: str) -> list[XmlElement]:
        """Return the elements right inside it with a tag."""
        return [element for element in self.elements if element.tag == tag]


def parse_xml(data: bytes, source: str) -> XmlElement:
    """Return the outermost element. Raise `BadFormat` for what is no XML, is cut off, or declares entities.

    Examples
    --------
    >>> parse_xml(b"<a><b x='1'>text</b></a>", "net.xml").named("b")[0].text
    'text'
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    top = XmlElement("", {}, 0)
    inside = [top]
    left = MOST_PARTS

    def fail(message: str) -> NoReturn:
        raise BadFormat(f"{source}:{parser.CurrentLineNumber}: {message}")

    def count(parts: int) -> None:
        nonlocal left
        left -= parts
        if left < 0:
            fail(f"expected at most {MOST_PARTS:,} elements, attributes and texts")

    def start(tag: str, attributes: dict[str, str]) -> None:
        count(1 + len(attributes))
        if len(inside) > MOST_DEEP:
            fail(f"expected elements at most {MOST_DEEP} deep")
        element = XmlElement(tag, attributes, parser.CurrentLineNumber)
        inside[-1].elements.append(element)
        inside.append(element)

    def add(text: str) -> None:
        count(1)
        inside[-1].pieces.append(text)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: inside.pop()
    parser.CharacterDataHandler = add
    parser.EntityDeclHandler = lambda name, *rest: fail(
        f"the file declares the entity {name!r}; write its text out"
    )
    parser.SkippedEntityHandler = lambda name, *rest: fail(f"the entity {name!r} is not defined")
    parser.ExternalEntityRefHandler = lambda *rest: fail("the file refers to another one, which is not read")
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise BadFormat(
            f"{source}:{error.lineno}:{error.offset + 1}: no XML, or cut off: {expat.errors.messages[error.code]}"
        ) from None
    except (ValueError, LookupError) as error:  # an encoding that Python does not have
        if isinstance(error, BadFormat):
            raise
        raise BadFormat(f"{source}: {error}; convert the file to UTF-8") from None
    return top.elements[0]


def xml_content(text: str, what: str) -> str:
    """Return a text as written between tags. Raise `BadFormat` if XML cannot hold it."""
    return escape(_checked(text, what))


def xml_attribute(text: str, what: str) -> str:
    """Return a text as written as an attribute, with its quotes. Raise `BadFormat` if XML cannot hold it."""
    return quoteattr(_checked(text, what))


def _checked(text: str, what: str) -> str:
    is_plain = all(c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff" for c in text)
    if not is_plain or text != text.strip() or not text:
        raise BadFormat(
            f"{what} cannot hold the text {text!r}: it is empty, or has white space at an end, a control character or "
            "a lone surrogate; rename it"
        )
    return text

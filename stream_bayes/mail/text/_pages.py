"""The walk over the tags of a page of HTML: which text is seen, and which is hidden by the elements around it.

    <p>Cheap<p style='display:none'>Dear Ann  ->  seen: " ", "Cheap", " "    hidden: "Dear Ann"

A tag is `<name attributes>`, where attributes may hold a ">" within quotes; one whose quotes do not match ends at the
first ">", and is not followed. Time is linear: each character is read at most twice, and the depth is bounded.
"""

from __future__ import annotations

import cython

BREAK_TAGS = frozenset(
    "p br div td th tr table li ul ol h1 h2 h3 h4 h5 h6 hr center blockquote pre option dd dt title img input"
    " address article aside details dialog dl fieldset figcaption figure footer form header main nav"
    " section summary".split()
)
VOID = frozenset(
    "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr".split()
)
# Each begins by ending an open paragraph.
BLOCKS = frozenset(
    "address article aside blockquote center details dir div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr"
    " main menu nav ol p pre section table ul".split()
)
ENDS = {
    "li": ("li",),
    "td": ("td", "th"),
    "th": ("td", "th"),
    "tr": ("td", "th", "tr"),
    "option": ("option",),
}
LONGEST_NAME = 16
LONGEST_VALUE = 600  # characters within the quotes of an attribute
LONGEST_ATTRIBUTE = cython.declare(cython.Py_ssize_t, 20)  # its name


@cython.cfunc
@cython.inline
def is_ascii_letter(c: cython.Py_UCS4) -> cython.bint:
    """Return True for a letter that may begin a tag's name."""
    return ("a" <= c <= "z") or ("A" <= c <= "Z")


@cython.cfunc
def end_of_attributes(source: str, i: cython.Py_ssize_t, n: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the place of the ">" that ends a tag; -1 if its quotes do not match, or another tag begins before."""
    longest: cython.Py_ssize_t = LONGEST_VALUE
    while i < n:
        c = source[i]
        if c == ">":
            return i
        if c == "<":
            return -1
        if c == '"' or c == "'":
            quote = c
            start = i + 1
            i = start
            while i < n and source[i] != quote and source[i] != "<":
                i += 1
            if i >= n or source[i] != quote or i - start > longest:
                return -1
        i += 1
    return -1


@cython.ccall
def attributes_of(tag: str, start: cython.Py_ssize_t) -> list:
    """Return the attributes of a tag from a place on, as pairs of a name in lower case and a value, "" for none.

    Examples
    --------
    >>> attributes_of("a HREF='/x y' id=top hidden", 1)
    [('href', '/x y'), ('id', 'top'), ('hidden', '')]
    """
    attributes: list = []
    longest: cython.Py_ssize_t = LONGEST_VALUE
    n: cython.Py_ssize_t = len(tag)
    i: cython.Py_ssize_t = start
    while i < n:
        if not is_ascii_letter(tag[i]):
            i += 1
            continue
        j = i + 1
        while j < n and (
            is_ascii_letter(tag[j]) or "0" <= tag[j] <= "9" or tag[j] == "-" or tag[j] == "_" or tag[j] == ":"
        ):
            j += 1
        name = tag[i : min(j, i + LONGEST_ATTRIBUTE)].lower()
        i = j
        while j < n and tag[j].isspace():
            j += 1
        if j >= n or tag[j] != "=":
            attributes.append((name, ""))
            continue
        j += 1
        while j < n and tag[j].isspace():
            j += 1
        c: cython.Py_UCS4 = tag[j] if j < n else "="
        if c == '"' or c == "'":
            end = tag.find('"' if c == '"' else "'", j + 1)
            if end < 0:
                end = n
            j += 1
            i = end + 1
        else:
            end = j
            while end < n and not (
                tag[end].isspace() or tag[end] == '"' or tag[end] == "'" or tag[end] == "<" or tag[end] == ">"
            ):
                end += 1
            i = end
        attributes.append((name, tag[j : min(end, j + longest)]))
    return attributes


@cython.cfunc
def close_element(name: str, elements: list, looks: list, counts: dict, look):
    """Close the innermost element of a name, and those within it; return the look of what follows."""
    if not counts.get(name):
        return look
    while elements:
        last = elements.pop()
        look = looks.pop()
        counts[last] -= 1
        if last == name:
            break
    return look


@cython.ccall
def walk_page(
    source: str,
    look,
    style_of,
    has_context: cython.bint,
    plain,
    seen_through,
    most_tags: cython.Py_ssize_t,
    deepest: cython.Py_ssize_t,
) -> tuple:
    """Return the visible text, the hidden text, the reasons, the last look, and the place after the last tag.

    `look` is that of text outside all elements: an object with `hidden`, the reason why text is hidden, or "".
    `style_of` returns the own style of an element with a name and attributes, within others: the list of their names
    and attributes, the outermost first, which counts only if `has_context`. `plain` is the style of one without any.
    `seen_through` returns the look of the inner of two elements, from the look of the outer and its style. At most
    `most_tags` tags are followed. The place is that after the last of them, if there are more; otherwise -1. Elements
    within one another deeper than `deepest` are not opened.
    """
    shown: list = []
    concealed: list = []
    reasons: dict = {}
    elements: list = []  # the names of those that are open, the innermost last
    around: list = []  # the same, each with its attributes
    kept: list = []  # the styles that depend on the elements around
    looks: list = []  # around them
    counts: dict = {}  # of the names that are open
    styles: dict = {}
    seen: dict = {}
    hidden: str = look.hidden
    longest: cython.Py_ssize_t = LONGEST_NAME
    n: cython.Py_ssize_t = len(source)
    done: cython.Py_ssize_t = 0
    followed: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t = source.find("<")
    attributes: str = ""
    while i >= 0:
        j = i + 1
        closing: cython.bint = j < n and source[j] == "/"
        if closing:
            j += 1
        if j >= n or not (
            is_ascii_letter(source[j]) or (not closing and (source[j] == "!" or source[j] == "?"))
        ):
            i = source.find("<", i + 1)
            continue
        name = None
        end = -1
        if is_ascii_letter(source[j]):
            end = j + 1
            while end < n and (is_ascii_letter(source[end]) or "0" <= source[end] <= "9"):
                end += 1
            c: cython.Py_UCS4 = source[end] if end < n else ">"
            if end - j <= longest and (
                c == ">" or c == "/" or c == '"' or c == "'" or c == "<" or c.isspace()
            ):
                name = source[j:end].lower()
                begin = end
                end = end_of_attributes(source, end, n)
                if end < 0:
                    name = None
                else:
                    attributes = source[begin:end]
                    end += 1
        if i > done:
            text = source[done:i]
            if not hidden:
                shown.append(text)
            elif not text.isspace():
                concealed.append(text)
                reasons[hidden] = None
        if name is None:
            end = j + 1
            while end < n and source[end] != "<" and source[end] != ">":
                end += 1
            if end < n and source[end] == ">":
                end += 1
            # Its name may still begin a line.
            if is_ascii_letter(source[j]) and begins_line(source, j, n):
                shown.append(" ")
            done = end
            i = source.find("<", end)
            continue
        done = end
        if name in BREAK_TAGS:
            shown.append(" ")
        followed += 1
        if followed > most_tags:
            return shown, concealed, reasons, look, done
        if closing:
            look = close_element(name, elements, looks, counts, look)
            hidden = look.hidden
        elif name not in VOID:
            if name in BLOCKS:
                look = close_element("p", elements, looks, counts, look)
            elif name in ENDS:
                while elements and elements[len(elements) - 1] in ENDS[name]:
                    look = close_element(elements[len(elements) - 1], elements, looks, counts, look)
            if len(elements) == deepest:
                reasons["deep"] = None
            else:
                del around[len(elements) :]
                elements.append(name)
                looks.append(look)
                counts[name] = counts.get(name, 0) + 1
                key = (name, attributes)
                style = None if has_context else styles.get(key)
                if style is None:
                    style = style_of(name, attributes, around)
                    styles[key] = style
                    if has_context:
                        kept.append(style)
                around.append(key)
                if style is not plain:
                    # By identity, as all looks and styles of a page live as long as the walk: their hashes are slow.
                    pair = (id(look), id(style))
                    inner = seen.get(pair)
                    if inner is None:
                        inner = seen_through(look, style)
                        seen[pair] = inner
                    look = inner
            hidden = look.hidden
        i = source.find("<", done)
    text = source[done:]
    if not hidden:
        shown.append(text)
    elif not text.isspace():
        concealed.append(text)
        reasons[hidden] = None
    return shown, concealed, reasons, look, -1


@cython.cfunc
def begins_line(source: str, start: cython.Py_ssize_t, n: cython.Py_ssize_t) -> cython.bint:
    """Return True if the name at a place is that of a tag that begins a line."""
    end: cython.Py_ssize_t = start
    while end < n and end - start <= LONGEST_NAME and (source[end].isalnum() or source[end] == "_"):
        end += 1
    return source[start:end].lower() in BREAK_TAGS

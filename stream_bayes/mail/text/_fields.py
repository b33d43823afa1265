r"""Header fields of a message, in one pass over their bytes; and the addresses in a field's text.

    b"To: Ann\n <ann@example.com>\nSubject: hi\n\nbody"  ->  ("To", b"Ann <ann@example.com>"), ("Subject", b"hi")
    "Ann <ann@example.com>"                            ->  ("ann", "example.com"), and what is left: "Ann < >"

A field is a name of up to 200 visible characters, blanks, and a colon. Lines that begin with a blank continue it. The
block of fields ends at the first other line. Time is linear: each byte is read once or twice.
"""

from __future__ import annotations

import re

import cython

SEPARATOR = re.compile(
    rb">?From [^\n]{1,100}[0-9]:[0-9][0-9]"
)  # of an mbox, which some programs leave in the headers

# Fields that decide what the reader sees: they are read behind any number of others.
NEEDED = frozenset(
    "from subject reply-to sender to content-type content-transfer-encoding content-disposition mime-version".split()
)
MOST_NEEDED = cython.declare(cython.Py_ssize_t, 20)  # of those, behind the others
TYPE_LENGTHS = cython.declare(cython.Py_ssize_t, 16)  # a type has parameters that find the parts
MAX_FOLDED = cython.declare(cython.Py_ssize_t, 4)  # limits of a value with its folds

TAB = cython.declare(cython.uchar, 9)
BLANK = cython.declare(cython.uchar, 32)
COLON = cython.declare(cython.uchar, 58)
LONGEST_NAME = cython.declare(cython.Py_ssize_t, 200)
MOST_BLANKS = cython.declare(cython.Py_ssize_t, 20)  # before the colon
LONGEST_USER = cython.declare(cython.Py_ssize_t, 64)
LONGEST_LABEL = cython.declare(cython.Py_ssize_t, 63)
MOST_LABELS = cython.declare(cython.Py_ssize_t, 9)


@cython.ccall
def fields_of(
    raw: bytes,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    most: cython.Py_ssize_t,
    longest: cython.Py_ssize_t,
) -> tuple:
    """Return the fields with their values unfolded, the end of their block, and the defects "long-header", ... of it.

    The end is the place of the newline of the last field, or `stop`; it is `start` if the first line is no field. `raw`
    has line ends of one byte. The fields begin at `start`; the message or part ends at `stop`. At most `most` fields
    are returned, besides those that the reader's program shows or decodes by. Of a value longer than `longest` bytes,
    the beginning and the end are returned; a type may be so many times longer.
    """
    view: cython.const[cython.uchar][::1] = raw
    fields: list = []
    defects: list = []
    name: str = ""
    value: cython.Py_ssize_t = 0  # where it begins
    last: cython.Py_ssize_t = 0  # where it ends
    i: cython.Py_ssize_t = start  # of the line
    is_open: cython.bint = False  # a field that continuation lines belong to
    while i < stop:
        end = raw.find(b"\n", i, stop)
        if end < 0:
            end = stop
        if view[i] == BLANK or view[i] == TAB:
            if i == start:
                return fields, start, defects
            last = end
            i = end + 1
            continue
        j = i
        while j < end and BLANK < view[j] < 127 and view[j] != COLON and j - i < LONGEST_NAME:
            j += 1
        k = j
        while k < end and (view[k] == BLANK or view[k] == TAB) and k - j < MOST_BLANKS:
            k += 1
        if is_open:
            add_field(fields, defects, name, raw[value:last], most, longest)
            is_open = False
        if j == i or k >= end or view[k] != COLON:
            if i == start:
                return fields, start, defects
            if SEPARATOR.match(raw, i, stop) is None:
                break
            if len(fields) < most:
                defects.append("header-line")
            i = end + 1
            continue
        is_open = True
        name = raw[i:j].decode("ascii")
        value, last = k + 1, end
        i = end + 1
    if is_open:
        add_field(fields, defects, name, raw[value:last], most, longest)
    # Without a newline after the last line, the block ends with the message.
    return fields, min(i - 1, stop) if i > start else start, defects


@cython.cfunc
def add_field(
    fields: list,
    defects: list,
    name: str,
    value: bytes,
    most: cython.Py_ssize_t,
    longest: cython.Py_ssize_t,
):
    """Add a field with its value unfolded and cut to its limit, unless there are too many."""
    lower: str = name.lower()
    if len(fields) >= most:
        if "many-headers" not in defects:
            defects.append("many-headers")
        if lower not in NEEDED or len(fields) >= most + MOST_NEEDED:
            return
    if lower == "content-type":
        longest *= TYPE_LENGTHS
    tail: cython.Py_ssize_t = longest // 4
    is_long: cython.bint = len(value) > MAX_FOLDED * longest
    if is_long:
        value = value[: 2 * longest] + b"\n" + value[len(value) - 2 * longest :]
    if b"\n" in value:
        value = b" ".join([line.strip(b" \t") for line in value.split(b"\n")])
    else:
        value = value.strip(b" \t")
    if len(value) > longest:
        is_long = True
        value = value[: longest - tail - 1] + b" " + value[len(value) - tail :]
    if is_long:
        defects.append("long-header")
    fields.append((name, value))


@cython.cfunc
@cython.inline
def is_label(c: cython.Py_UCS4) -> cython.bint:
    """Return True for a character of a host's label."""
    if c < "\x80":
        return ("a" <= c <= "z") or ("A" <= c <= "Z") or ("0" <= c <= "9") or c == "_" or c == "-"
    return c.isalnum()


@cython.cfunc
@cython.inline
def is_user(c: cython.Py_UCS4) -> cython.bint:
    """Return True for a character of an address before its @."""
    return is_label(c) or c == "." or c == "+" or c == "=" or c == "&" or c == "'" or c == "*" or c == "/"


@cython.ccall
def cut_addresses(text: str) -> tuple:
    """Return the addresses of a text as pairs of user and host, and the text with a blank in the place of each."""
    addresses: list = []
    kept: list = []
    n: cython.Py_ssize_t = len(text)
    done: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t = text.find("@")
    while at >= 0:
        begin = at
        while begin > done and at - begin < LONGEST_USER and is_user(text[begin - 1]):
            begin -= 1
        end = at + 1
        if begin < at and end < n and is_label(text[end]):
            labels: cython.Py_ssize_t = 0
            while True:
                label = end  # where it begins
                while end < n and end - label < LONGEST_LABEL and is_label(text[end]):
                    end += 1
                labels += 1
                if labels == MOST_LABELS or end + 1 >= n or text[end] != "." or not is_label(text[end + 1]):
                    break
                end += 1
            addresses.append((text[begin:at], text[at + 1 : end]))
            kept.append(text[done:begin])
            done = end
        at = text.find("@", end)
    if not addresses:
        return addresses, text
    kept.append(text[done:])
    return addresses, " ".join(kept)

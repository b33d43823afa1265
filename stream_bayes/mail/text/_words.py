"""Splitting text into words: the loop over every letter of a message.

    "Only $9.99 for http-based e-mail, NOW!"  ->  Only, $9.99, shape:$0.00, for, http-based, e-mail, NOW!

A word is a run of letters, digits and "_", which may hold a single point, apostrophe, hyphen, asterisk or @ between two
of these; a currency sign before it and an exclamation mark or per cent sign after it belong to it. Time is linear: each
letter is read once, and only words that are counted are built.
"""

from __future__ import annotations

import cython

LONGEST_HOST = 200
MOST_DOMAINS = cython.declare(cython.Py_ssize_t, 4)


@cython.cfunc
@cython.inline
def is_letter(c: cython.Py_UCS4) -> cython.bint:
    """Return True for a letter, a digit or "_"."""
    if c < "\x80":
        return ("a" <= c <= "z") or ("A" <= c <= "Z") or ("0" <= c <= "9") or c == "_"
    # In India's scripts, vowels over, under and beside letters belong to a word, and full stops do not.
    return c.isalnum() or ("\u0900" <= c <= "\u0dff" and c != "\u0964" and c != "\u0965")


@cython.cfunc
@cython.inline
def is_wide(c: cython.Py_UCS4) -> cython.bint:
    """Return True for a letter of a script without blanks between words."""
    if c < "\u0e00":
        return False
    return (
        c <= "\u0eff"
        or ("\u1100" <= c <= "\u11ff")
        or ("\u2e80" <= c <= "\ud7af")
        or ("\uf900" <= c <= "\ufaff")
        or ("\U00020000" <= c <= "\U0003ffff")
    )


@cython.cfunc
@cython.inline
def joins(c: cython.Py_UCS4) -> cython.bint:
    """Return True for a character that may join two letters of a word."""
    return c == "." or c == "'" or c == "-" or c == "@" or c == "*" or c == "\u2019"


@cython.cfunc
def zeroed(word: str) -> str:
    """Return a word with every digit replaced by 0."""
    return "".join(["0" if "0" <= c <= "9" else c for c in word])


@cython.cfunc
def add_pieces(
    tokens: list,
    prefix: str,
    text: str,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    longest: cython.Py_ssize_t,
    most: cython.Py_ssize_t,
):
    """Add the words of a long one: its runs of letters and digits between other signs, "_" among these."""
    i: cython.Py_ssize_t = start
    while i < stop and len(tokens) < most:
        begin = i
        while i < stop and text[i] != "_" and is_letter(text[i]):
            i += 1
        if 0 < i - begin <= longest and i - begin < stop - start:
            tokens.append(prefix + text[begin:i])
        i += 1


@cython.ccall
def words_of(text: str, prefix: str, longest: cython.Py_ssize_t, most: cython.Py_ssize_t) -> list:
    """Return the tokens of a text, in order. `prefix` is put before each. A word longer than `longest` becomes `long:`,
    its first letter, and its length in tens; and the words between its signs, if it has any. At most `most` tokens are
    returned.
    """
    tokens: list = []
    n: cython.Py_ssize_t = len(text)
    i: cython.Py_ssize_t = 0
    while i < n and len(tokens) < most:
        c = text[i]
        if not is_letter(c):
            i += 1
            continue
        start = i
        if is_wide(c):
            # Neighbours in pairs; a letter alone is itself.
            i += 1
            while i < n and is_wide(text[i]):
                tokens.append(prefix + text[i - 1 : i + 1])
                i += 1
            if i == start + 1:
                tokens.append(prefix + text[start:i])
            continue
        digits = False
        if start > 0 and text[start - 1] in "$£€":
            start -= 1
        while i < n:
            c = text[i]
            if is_letter(c):
                if is_wide(c):
                    break
                if "0" <= c <= "9":
                    digits = True
                i += 1
            elif joins(c) and i + 1 < n and is_letter(text[i + 1]) and not is_wide(text[i + 1]):
                i += 1
            else:
                break
        if i < n and text[i] in "!%":
            i += 1
        length = i - start
        if length > longest:
            tens = str(10 * (length // 10)) if length < 100 else "100"
            tokens.append(prefix + "long:" + text[start] + tens)
            add_pieces(tokens, prefix, text, start, i, longest, most)
            continue
        word = text[start:i]
        tokens.append(prefix + word if prefix else word)
        if digits and length > 2:
            tokens.append(prefix + "shape:" + zeroed(word))
    return tokens


@cython.cfunc
@cython.inline
def names_hosts(c: cython.Py_UCS4) -> cython.bint:
    """Return True for a character of a host name other than a point."""
    return ("a" <= c <= "z") or ("0" <= c <= "9") or c == "-" or c == "_"


@cython.ccall
def hosts_of(text: str) -> list:
    """Return host names and IP addresses in lower-case text: letters, digits, "-" and "_" with single points between.

    The last part of a name is of at least two letters; an address has four parts of digits.
    """
    hosts: list = []
    n: cython.Py_ssize_t = len(text)
    i: cython.Py_ssize_t = 0
    longest: cython.Py_ssize_t = LONGEST_HOST
    while i < n:
        if not names_hosts(text[i]):
            i += 1
            continue
        start = stop = i
        end = start + longest  # what is cut off a longer one is skipped with it
        last = start  # where the last part begins
        points: cython.Py_ssize_t = 0
        is_number = is_word = True  # digits but for points, and letters in the last part
        while i < n:
            c = text[i]
            if names_hosts(c):
                if i < end:
                    if not ("0" <= c <= "9"):
                        is_number = False
                    if not ("a" <= c <= "z"):
                        is_word = False
                    stop = i + 1
                i += 1
            elif c == "." and i + 1 < n and names_hosts(text[i + 1]):
                if i < end:
                    points += 1
                    last = i + 1
                    is_word = True
                    stop = i + 1
                i += 1
            else:
                break
        if points > 0 and ((is_word and stop - last > 1) or (is_number and points == 3)):
            hosts.append(text[start:stop])
    return hosts


@cython.ccall
def host_tokens(prefix: str, host: str) -> list:
    """Return tokens of a host and of its domains or networks.

    Examples
    --------
    >>> host_tokens("url", "mail.shop.example.com")
    ['url:mail.shop.example.com', 'url:shop.example.com', 'url:example.com', 'url:com']
    >>> host_tokens("url", "10.1.2.3")
    ['url:10.1.2.3', 'url:10.1.2', 'url:10.1']
    """
    mark: str = prefix + ":"
    tokens: list = []
    n: cython.Py_ssize_t = len(host)
    parts: cython.Py_ssize_t = 1
    for at in range(n):
        if host[at] == ".":
            parts += 1
    if host[host.rfind(".") + 1 :].isdigit():
        at = n
        while parts > 1:
            tokens.append(mark + host[:at])
            at = host.rfind(".", 0, at)
            parts -= 1
        return tokens
    at = 0
    while True:
        if parts <= MOST_DOMAINS:
            tokens.append(mark + host[at:])
        parts -= 1
        if parts == 0:
            break
        at = host.find(".", at) + 1
    return tokens


@cython.ccall
def add_tokens(bag: dict, tokens, most: cython.Py_ssize_t):
    """Count tokens; a bag of `most` different tokens accepts no new ones."""
    for token in tokens:
        count = bag.get(token)
        if count is not None:
            bag[token] = count + 1
        elif len(bag) < most:
            bag[token] = 1

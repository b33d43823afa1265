"""Decoding of transfer encodings by a mail parser: fast-mail-parser if installed, otherwise the standard library.

Parsers never get the original message. The encoded bodies are rewritten in a form that all parsers read alike: one
multipart, one level deep, with a boundary that no encoded line can hold; one header a part; base64 of whole groups
and nothing else, quoted-printable in ASCII without a stray `=`. So no parser can be driven into deep recursion, or has
to interpret a broken message, and all give the same result.

    MIME-Version: 1.0
    Content-Type: multipart/mixed; boundary="=_:"

    --=_:
    Content-Transfer-Encoding: base64

    aGVsbG8=
    --=_:--
"""

from __future__ import annotations

import email
import re
from collections.abc import Callable, Sequence
from email.message import Message
from typing import cast

from stream_bayes._build import install_command
from stream_bayes.errors import BadValue, MissingPackage
from stream_bayes.mail.text.charsets import sound_base64

try:
    import fast_mail_parser
except ImportError:  # the extra `mail` is not installed
    fast_mail_parser = None  # type: ignore[assignment]  # a module, otherwise

__all__ = [
    "PARSERS",
    "DecodeParts",
    "canonical_base64",
    "canonical_quoted",
    "decoder",
    "fast_parser_is_installed",
]

Encoded = tuple[str, bytes]  # "base64" or "quoted-printable", and a body in canonical form
DecodeParts = Callable[[Sequence[Encoded]], list[bytes]]

PARSERS = ("auto", "fast", "standard")

# Base64 holds no "_"; and in canonical quoted-printable every "=" begins an escape or ends a line.
_HEAD = b'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="=_:"\n\n'
_PART = b"--=_:\nContent-Type: application/octet-stream\nContent-Transfer-Encoding: %b\n\n%b\n"
_TAIL = b"--=_:--\n"

_STRAY = re.compile(rb"=(?![0-9A-Fa-f]{2}|\n)")
_SAFE = b"\t\n" + bytes(range(ord(" "), ord("~") + 1))
_ESCAPES = {byte: f"={byte:02X}" for byte in range(256) if byte not in _SAFE}


def canonical_base64(body: bytes) -> tuple[bytes, bool]:
    """Return valid base64, and True if the body was anything else."""
    return sound_base64(body)


def canonical_quoted(body: bytes) -> tuple[bytes, bool]:
    """Return valid quoted-printable, and True if the body was anything else, blanks at the ends of lines aside."""
    if b" \n" in body or b"\t\n" in body:
        body = b"\n".join([line.rstrip(b" \t") for line in body.split(b"\n")])
    body = body.rstrip(b" \t")
    pairs = b"==" in body
    if pairs:  # twice, as they overlap; a body of nothing else would take a regular expression long
        body = body.replace(b"==", b"=3D=").replace(b"==", b"=3D=")
    body, strays = _STRAY.subn(b"=3D", body)
    unsafe = bool(body.translate(None, _SAFE))
    if unsafe:
        body = body.decode("latin-1").translate(_ESCAPES).encode("latin-1")
    return body, pairs or strays > 0 or unsafe


def canonical(parts: Sequence[Encoded]) -> bytes:
    """Return the canonical message with these parts."""
    return _HEAD + b"".join([_PART % (encoding.encode(), body) for encoding, body in parts]) + _TAIL


def _with_fast_mail_parser(parts: Sequence[Encoded]) -> list[bytes]:
    tree = fast_mail_parser.parse_email_tree(canonical(parts))
    return _with_lines_alike(parts, [part.content or b"" for part in tree.children])


def _with_standard_library(parts: Sequence[Encoded]) -> list[bytes]:
    message = email.message_from_bytes(canonical(parts))  # the compat32 policy: no other is linear
    decoded = [part.get_payload(decode=True) for part in cast("list[Message]", message.get_payload())]
    return _with_lines_alike(parts, [body if isinstance(body, bytes) else b"" for body in decoded])


def _with_lines_alike(parts: Sequence[Encoded], decoded: list[bytes]) -> list[bytes]:
    """Return quoted-printable bodies with equal line ends: one parser keeps them, the other writes those of SMTP."""
    return [
        body if encoding == "base64" else body.replace(b"\r\n", b"\n").rstrip(b"\n")
        for (encoding, _), body in zip(parts, decoded, strict=True)
    ]


def fast_parser_is_installed() -> bool:
    """Return True if fast-mail-parser is installed."""
    return fast_mail_parser is not None


def decoder(parser: str) -> DecodeParts:
    """Return the decoder of a message's parts. `parser` is `"fast"`, `"standard"`, or `"auto"` for the fast one where
    it is installed.
    """
    if parser not in PARSERS:
        raise BadValue(f"parser must be one of {', '.join(PARSERS)}; got {parser!r}")
    if parser == "fast" and not fast_parser_is_installed():
        raise MissingPackage(
            f'parser="fast" needs fast-mail-parser: {install_command("mail")}, or use "auto"'
        )
    fast = parser != "standard" and fast_parser_is_installed()
    return _with_fast_mail_parser if fast else _with_standard_library

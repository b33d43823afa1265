"""The signature that ends a signed file: `hmac-sha256:` and 64 hex digits, over every byte before them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator

from stream_bayes.errors import BadSnapshot, BadValue
from stream_bayes.saving.snapshots.archive import Bytes

__all__ = ["SIZE", "check_signature", "signed"]

BEGINNING = b"hmac-sha256:"
DIGITS = 64
SIZE = len(BEGINNING) + DIGITS
LEAST_KEY = 16  # bytes


def signed(pieces: Iterable[Bytes], key: bytes) -> Iterator[Bytes]:
    """Yield the pieces of a file, and its signature after them."""
    signature = _signature(key)
    for piece in pieces:
        signature.update(piece)
        yield piece
    signature.update(BEGINNING)
    yield BEGINNING + signature.hexdigest().encode()


def check_signature(file: memoryview, key: bytes | None) -> None:
    """Refuse a file unless it is signed with this key, or, without a key, not at all."""
    is_signed = file[-SIZE:-DIGITS] == BEGINNING
    if key is None:
        if is_signed:
            raise BadSnapshot("the snapshot is signed; give the key it was signed with")
        return
    signature = _signature(key)
    if not is_signed:
        raise BadSnapshot("the snapshot does not end with a signature: it is unsigned or truncated")
    signature.update(file[:-DIGITS])
    if not hmac.compare_digest(signature.hexdigest().encode(), bytes(file[-DIGITS:])):
        raise BadSnapshot("the snapshot's signature does not fit: it was altered, or signed with another key")


def _signature(key: bytes) -> hmac.HMAC:
    if not isinstance(key, bytes) or len(key) < LEAST_KEY:
        raise BadValue(f"a key to sign snapshots with is at least {LEAST_KEY} random bytes; this one is not")
    return hmac.new(key, digestmod=hashlib.sha256)

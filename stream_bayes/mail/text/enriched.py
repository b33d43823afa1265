"""Text in the formats text/enriched and text/richtext, which mark words by tags as HTML does."""

from __future__ import annotations

import re

__all__ = ["text_of_enriched"]

_UNSEEN = re.compile(r"<(param|comment)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_NEW_LINE = re.compile(
    r"<(?:nl|np|paragraph|/?(?:center|flushleft|flushright|excerpt|indent))>", re.IGNORECASE
)
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9-]{0,59}>")


def text_of_enriched(source: str) -> str:
    """Return the text that is seen.

    Examples
    --------
    >>> text_of_enriched("<color><param>red</param>Che<bold></bold>ap</color> pills<nl>a << b")
    'Cheap pills a < b'
    """
    lines = (
        _TAG.sub("", _NEW_LINE.sub(" ", _UNSEEN.sub("", piece))) if "<" in piece else piece
        for piece in source.split("<<")
    )
    return "<".join(lines)

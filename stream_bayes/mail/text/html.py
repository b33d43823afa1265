"""A page of HTML: the text that is seen, and tokens of the text that is hidden.

One pass over the tags, without a tree, so time and memory are bounded by counts. Tags that begin a line leave a blank:
words of two cells do not run together, while `Via<b></b>gra` stays one word. Hidden text is no content: it becomes a
few tokens of its own, so that a spam cannot dilute itself with invisible words.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final, NamedTuple

from stream_bayes.mail.text._pages import attributes_of, walk_page
from stream_bayes.mail.text.entities import unescaped
from stream_bayes.mail.text.sheets import Sheet, holds_at_a_desk
from stream_bayes.mail.text.styles import PLAIN
from stream_bayes.mail.text.tags import rounded
from stream_bayes.mail.text.visibility import PAPER, look_within, may_hide, style_of

__all__ = [
    "Page",
    "hidden_tokens",
    "read_page",
    "shortened",
    "text_of_enriched",
    "with_frames",
    "with_plain_tags",
]

# Elements without content for a reader, and comments. A comment may hold a tag, and a style sheet a comment.
_UNREAD = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))|<(script|style|title)\b([^>]{0,2000})>(.*?)(?:</\1\b[^>]{0,200}>?|\Z)",
    re.IGNORECASE | re.DOTALL,
)
# What could be taken for a tag and is none: within the quotes of an attribute, or in an element whose content is text.
_MAY_HOLD_NO_TAGS = re.compile(
    r"=\s{0,5}(?:\"[^\"<>]{0,2000}[<>]|'[^'<>]{0,2000}[<>])|<(?:textarea|xmp|iframe|noembed|noframes|svg|math)\b",
    re.IGNORECASE,
)
_HOLDS_NO_TAGS = re.compile(
    r"(?P<kept><!--(?:-?>|.*?(?:--!?>|\Z))|<(?P<raw>script|style|title)\b[^>]{0,2000}>.*?(?:</(?P=raw)\b|\Z))"
    r"|(?P<begin><(?P<element>textarea|xmp|iframe|noembed|noframes)\b[^>]{0,2000}>)(?P<content>.*?)(?=</(?P=element)\b|\Z)"
    r"|(?P<tag><[a-z][^<>\"'=]{0,200}+(?:=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'<>=]*+)[^<>\"'=]*+)++>)",
    re.IGNORECASE | re.DOTALL,
)
_CLOSED_IN_PICTURE = re.compile(r"<(?:script|style|title)\b[^<>]{0,2000}/>", re.IGNORECASE)
_PICTURE_MARK = re.compile(r"<(/?)(?:svg|math)\b", re.IGNORECASE)
MAX_CLOSED = 50  # such elements of a page
# A page within an attribute, which is shown in a frame.
_FRAME = re.compile(
    r"(<iframe\b[^<>]{0,1000}?\bsrcdoc\s{0,5}=\s{0,5})(?:\"([^\"]*+)\"|'([^']*+)')", re.IGNORECASE
)
MAX_FRAMES: Final = 20
# The text that a style sheet shows before or after elements; empty ones, signs and pictures are none.
_CONTENT = re.compile(r"\bcontent\s{0,5}:\s{0,5}(?:\"([^\"\\\n]{1,300})|'([^'\\\n]{1,300}))", re.IGNORECASE)
MIN_CONTENT: Final = 3  # words that make such a text one
MAX_CONTENT: Final = 20
_RUN = re.compile(r"<{2,}")
_ANY_TAG = re.compile(r"</?[a-zA-Z][^<>]*>?|<[!?][^<>]*>?")
_BREAK = re.compile(
    r"<(?=/?(?:p|br|div|td|th|tr|table|li|ul|ol|h[1-6]|hr|center|blockquote|pre|option|dd|dt|title|img|input"
    r"|address|article|aside|details|dialog|dl|fieldset|figcaption|figure|footer|form|header|main|nav|section|summary)\b)",
    re.IGNORECASE,
)
_DATA = re.compile(r"data:[^\s\"'<>)]{200,}", re.IGNORECASE)
_LONG_VALUE = re.compile(r"=\s{0,5}([\"'])([^\"'<]{601,})\1")
_SKIPPED = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))|(<(script|style)\b[^>]{0,2000}>)(.*?)(?:</\2\b[^>]{0,200}>?|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_ENRICHED_UNSEEN = re.compile(r"<(param|comment)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_ENRICHED_LINE = re.compile(
    r"<(?:nl|np|paragraph|/?(?:center|flushleft|flushright|excerpt|indent))>", re.IGNORECASE
)
_ENRICHED_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9-]{0,59}>")
MIN_SHORTENED: Final = 600  # letters of a page that may hold a long value
MAX_SHEET: Final = 16_000  # letters of a style sheet in a long page
MAX_FOLLOWED: Final = 2_000  # tags whose styles are read; what follows the last one counts as seen
MAX_ENTITIES: Final = 30_000  # that are decoded: more than a text within the limits may have
MAX_OPEN: Final = 100  # elements within one another
MAX_HIDDEN_WORDS: Final = 20  # that become tokens
_WORD = re.compile(r"\w{3,24}")


class Page(NamedTuple):
    """The text of a page, and tokens of what it hides."""

    text: str
    hidden: list[str]


def read_page(source: str) -> Page:
    """Return the visible text, and tokens of hidden text.

    Examples
    --------
    >>> read_page("<style>p {}</style><p>Che<b></b>ap</p><p>&euro;5<!-- no -->0</p>").text.split()
    ['Cheap', '€50']
    >>> read_page("<p>Cheap</p><p style='display:none'>Dear Ann,</p>")
    Page(text=' Cheap   ', hidden=['hidden:display', 'hidden:*2', 'hidden:Dear', 'hidden:Ann'])
    """
    sheets: list[str] = []
    if "<<" in source:
        source = _RUN.sub("<", source)

    def cut(match: re.Match[str]) -> str:
        if match[3] and match[1].lower() == "style":
            media = dict(attributes_of(match[2], 0)).get("media", "") if "=" in match[2] else ""
            if not media or holds_at_a_desk(media):
                sheets.append(match[3])
        return " " if match[1] and match[1].lower() == "title" else ""

    source = _UNREAD.sub(cut, source)
    if not sheets and not may_hide(source):
        return Page(_text(_ANY_TAG.sub("", _BREAK.sub(" <", source))), [])
    sheet = "\n".join(sheets)
    page = _walk(source, Sheet(sheet))
    page.hidden.extend(_tokens_of_content(sheet))
    return page


def _tokens_of_content(sheet: str) -> list[str]:
    """Return tokens of the text that a style sheet shows, which some readers show and others do not."""
    matches = islice(_CONTENT.finditer(sheet), MAX_CONTENT) if "content" in sheet.lower() else ()
    text = " ".join([match[1] or match[2] for match in matches])
    return hidden_tokens("content", text) if len(_WORD.findall(text)) >= MIN_CONTENT else []


def with_frames(source: str) -> str:
    """Return a page with the pages that are written into its frames before these.

    Examples
    --------
    >>> with_frames("<iframe width=9 srcdoc='&lt;b&gt;pills'></iframe>")
    "<b>pills<iframe width=9 srcdoc=''></iframe>"
    """
    return _FRAME.sub(_before_frame, source, MAX_FRAMES) if "srcdoc" in source.lower() else source


def _before_frame(match: re.Match[str]) -> str:
    return f"{_text(match[2] or match[3] or '')}{match[1]}''"


def with_plain_tags(source: str) -> str:
    """Return a page without what only looks like a tag. Elsewhere, a tag is then all from "<" to the next ">".

    Examples
    --------
    >>> with_plain_tags("<p title='<style>'>pills<noframes><style></noframes>cheap")
    "<p title=' style '>pills<noframes>&lt;style></noframes>cheap"
    """
    if _MAY_HOLD_NO_TAGS.search(source) is None:
        return source
    if _PICTURE_MARK.search(source) is not None:
        source = _CLOSED_IN_PICTURE.sub(_without_closed, source, MAX_CLOSED)
    return _HOLDS_NO_TAGS.sub(_as_text, source)


def _without_closed(match: re.Match[str]) -> str:
    """Return nothing for an element of XML that closes itself: in a page it would be open."""
    marks = _PICTURE_MARK.findall(match.string, max(match.start() - 20_000, 0), match.start())
    return "" if marks and not marks[-1] else match[0]


def _as_text(match: re.Match[str]) -> str:
    if match["kept"]:
        return match[0]
    if match["begin"]:
        return match["begin"] + match["content"].replace("<", "&lt;")
    return "<" + match["tag"][1:-1].replace("<", " ").replace(">", " ") + ">"


def _text(source: str) -> str:
    """Return a text with its entities decoded."""
    if "&" not in source:
        return source
    parts = source.split("&", MAX_ENTITIES)
    rest = f"&{parts.pop()}" if len(parts) > MAX_ENTITIES else ""
    return unescaped("&".join(parts)) + rest


def _walk(source: str, sheet: Sheet) -> Page:
    """Return the visible text of a page, and tokens of the hidden text."""
    shown, concealed, reasons, look, rest = walk_page(
        source,
        PAPER,
        lambda name, attributes, around: style_of(name, attributes, sheet, around),
        sheet.has_context,
        PLAIN,
        look_within,
        MAX_FOLLOWED,
        MAX_OPEN,
    )
    if sheet.is_cut or sheet.tests_left < 0:
        reasons["many-rules"] = None
    if rest >= 0:
        reasons["many-tags"] = None
        shown.append(_ANY_TAG.sub("", _BREAK.sub(" <", source[rest:])))
        if look.hidden:  # the element that hides may end anywhere in the rest
            reasons["unfollowed"] = None
    return Page(_text("".join(shown)), _tokens_of_hidden(concealed, reasons))


def _tokens_of_hidden(concealed: list[str], reasons: dict[str, None]) -> list[str]:
    """Return the tokens of hidden text: the means, its size, and its first words."""
    tokens = [f"hidden:{reason}" for reason in reasons]
    return [*tokens, *_first_words(_text(" ".join(concealed)))] if concealed else tokens


def hidden_tokens(reason: str, text: str) -> list[str]:
    """Return the tokens of a text that is hidden as a whole.

    Examples
    --------
    >>> hidden_tokens("alternative", "Dear Ann,")
    ['hidden:alternative', 'hidden:*2', 'hidden:Dear', 'hidden:Ann']
    """
    return [f"hidden:{reason}", *_first_words(text)]


def _first_words(text: str) -> list[str]:
    """Return tokens of the number of words in a hidden text, and of its first words."""
    words = _WORD.findall(text[:65_536])
    first = list(dict.fromkeys(words))[:MAX_HIDDEN_WORDS]
    return [f"hidden:*{rounded(max(len(words), 1))}", *(f"hidden:{word}" for word in first)]


def shortened(source: str, longest: int) -> str:
    """Return a page without the most of what its reader does not read: pictures within it, long values of attributes,
    and of a page longer than `longest` the contents of comments, scripts and long style sheets.

    Examples
    --------
    >>> shortened(f"<img src='data:image/png;base64,{'A' * 900}'>pills", 100)
    "<img src='data:'>pills"
    """
    if len(source) > MIN_SHORTENED:
        source = _LONG_VALUE.sub(_ends_of_value, _DATA.sub("data:", source))
    return _SKIPPED.sub(_emptied, source) if len(source) > longest else source


def _ends_of_value(match: re.Match[str]) -> str:
    value = match[2]
    return f"={match[1]}{value[:280]} {value[-280:]}{match[1]}"


def _emptied(match: re.Match[str]) -> str:
    """Return a comment or element without its content; of a style sheet, its beginning and its end."""
    if not match[1]:
        return "<!-- -->"
    content = match[3] if match[2].lower() == "style" else ""
    if len(content) > MAX_SHEET:
        content = content[: MAX_SHEET // 2] + "\n}" + content[-MAX_SHEET // 2 :]
    return f"{match[1]}{content}</{match[2]}>"


def text_of_enriched(source: str) -> str:
    """Return the text that is seen of text/enriched or text/richtext, which mark words by tags as HTML does.

    Examples
    --------
    >>> text_of_enriched("<color><param>red</param>Che<bold></bold>ap</color> pills<nl>a << b")
    'Cheap pills a < b'
    """
    lines = (
        _ENRICHED_TAG.sub("", _ENRICHED_LINE.sub(" ", _ENRICHED_UNSEEN.sub("", piece)))
        if "<" in piece
        else piece
        for piece in source.split("<<")
    )
    return "<".join(lines)

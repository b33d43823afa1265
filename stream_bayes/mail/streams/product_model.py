"""The spam filter as a model of pipelines."""

from __future__ import annotations

from collections.abc import Sequence

from stream_bayes.mail.filter.arguments import FILTER, filter_arguments, make_filter
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.streams.decoder import MailDecoder
from stream_bayes.mail.streams.spam_model import ServedFilter
from stream_bayes.mail.streams.subject_and_sender import HEADINGS
from stream_bayes.mail.text.transformer import EmailTokens
from stream_bayes.streams.served_models.product_models import ProductModel

__all__ = ["SPAM_FILTER"]


def _decoder(model: SpamFilter, max_record_bytes: int, headings: Sequence[str]) -> MailDecoder:
    """Return a decoder of mails that splits them into tokens as the filter does."""
    tokens = EmailTokens(parser=model.parser, pairs=model.pairs, limits=model.limits)
    return MailDecoder(max_record_bytes=max_record_bytes, tokens=tokens, headings=headings)


SPAM_FILTER = ProductModel(
    name=FILTER,
    model=SpamFilter,
    arguments=filter_arguments,
    make=make_filter,
    serve=ServedFilter,
    decoder=MailDecoder.name,
    make_decoder=_decoder,
    headings=tuple(HEADINGS),
)

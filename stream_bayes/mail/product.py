"""The product mail: the names under which rooms below find what it brings."""

from __future__ import annotations

__all__ = ["BRINGS", "SPAM"]

BRINGS = {
    "commands": {"spam": "stream_bayes.mail.product:SPAM"},
    "models": {"spam-filter": "stream_bayes.mail.streams.product_model:SPAM_FILTER"},
    "model_classes": {"SpamFilter": "stream_bayes.mail.streams.product_model:SPAM_FILTER"},
    "decoders": {"mail": "stream_bayes.mail.streams.decoder:MailDecoder"},
    "states": {"SpamFilter": "stream_bayes.mail.filter.filter:SpamFilter"},
    "codecs": {"stream_bayes.mail": "stream_bayes.mail.text.transformer_codec"},
    "followed": {"spam-filter": "stream_bayes.mail.server.page_mails:followed_home"},
    "message_files": {"mail": "stream_bayes.mail.streams.mailbox:keyed_mails"},
    "totals": {"SpamFilter": "stream_bayes.mail.streams.shard_filter:FilterTotal"},
}

SPAM = ("stream_bayes.mail.commands.app:spam", "Train, query, correct and serve the spam filter.")

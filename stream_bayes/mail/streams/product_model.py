"""The spam filter as a model of pipelines and of the service."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stream_bayes.errors import BadValue, NotSupported
from stream_bayes.mail.filter.arguments import FILTER, filter_arguments, make_filter
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.filter.messages import digest_of
from stream_bayes.mail.streams.decoder import MailDecoder
from stream_bayes.mail.streams.mailbox import mails, refusals
from stream_bayes.mail.streams.spam_model import FIELDS, ServedFilter
from stream_bayes.mail.streams.subject_and_sender import HEADINGS, headings_of
from stream_bayes.mail.text.transformer import EmailTokens
from stream_bayes.registry import load
from stream_bayes.serve.plain_values import as_json, label_name
from stream_bayes.streams.served_models.product_models import ProductModel

__all__ = ["SPAM_FILTER", "telling_tokens"]

logger = logging.getLogger(__name__)

MOST_TOKENS = 40  # in the description of a filter
MOST_EVIDENCE = 30  # tokens of a mail that are shown


class SpamFilterModel(ProductModel):
    """The spam filter."""

    name = FILTER
    model = SpamFilter
    decoder = MailDecoder.name
    headings = tuple(HEADINGS)
    described_in = (EmailTokens,)

    def arguments(self) -> list[str]:
        return filter_arguments()

    def make(self, arguments: Mapping[str, Any], key: bytes | None) -> SpamFilter:
        return make_filter(arguments, key)

    def serve(self, model: SpamFilter) -> ServedFilter:
        return ServedFilter(model)

    def make_decoder(self, model: SpamFilter, max_record_bytes: int, headings: Sequence[str]) -> MailDecoder:
        tokens = EmailTokens(
            parser=model.parser,
            pairs=model.pairs,
            limits=model.limits,
            authserv_id=model.authserv_id,
            characters=model.has_second_opinion,
        )
        tokens.correspondents = model.correspondents
        return MailDecoder(max_record_bytes=max_record_bytes, tokens=tokens, headings=headings)

    def learn_sent(self, model: SpamFilter, paths: Sequence[Path]) -> None:
        refused: dict[str, str] = {}
        for mail in (mail for path in paths for mail in mails(path)):
            if mail.refusal:
                refused[mail.origin] = mail.refusal
            else:
                model.learn_sent(mail.raw)
        if refused:
            logger.warning("model.sent: %s", refusals(refused))
        if not len(model.correspondents):
            raise BadValue(f"no mail that was sent to anybody in {', '.join(map(str, paths))}")

    def key_of(self, model: SpamFilter) -> bytes | None:
        return model.key

    def labels_of(self, model: SpamFilter) -> Sequence[Any]:
        return model.classes

    def id_of(self, raw: bytes) -> str:
        return digest_of(raw)

    def message_in(self, x: Mapping[str, Any]) -> Any:
        messages = [x[name] for name in FIELDS if x.get(name) is not None]
        if len(messages) != 1:
            raise BadValue("expected a message as tokens, mail or text; send a raw mail to POST v1/check")
        return messages[0]

    def headings_of(self, x: Mapping[str, Any], wanted: Collection[str]) -> dict[str, str]:
        decoded = {name: x[name] for name in wanted if isinstance(x.get(name), str)}
        raw = x.get("mail") or x.get("text")
        if not wanted or decoded or not isinstance(raw, (str, bytes)):
            return decoded
        return headings_of(raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw, wanted)

    def explained(self, model: SpamFilter, message: Any) -> dict[str, Any]:
        why = model.explain_one(message)
        return {
            "verdict": as_json(why.verdict),
            "probabilities": {label_name(label): p for label, p in model.predict_proba_one(message).items()},
            "score": as_json(why.score),
            "evidence": evidence_of_mail(why.tokens),
        }

    def described(self, model: SpamFilter) -> dict[str, Any]:
        return {
            "labels": as_json(model.classes),
            "messages": {label_name(label): count for label, count in model.messages.items()},
            "tokens": model.tokens,
            "telling": telling_tokens(model),
            "correctable": model.correctable,
        }

    def print_explanation(self, model: SpamFilter, file: str, json: bool) -> None:
        if file != "-" and not Path(file).is_file():
            raise BadValue(f"the snapshot holds a spam filter: expected a file with a message, got {file}")
        load("stream_bayes.mail.commands.explain:print_mail_in_file")(model, file, json)


SPAM_FILTER = SpamFilterModel()


def telling_tokens(model: SpamFilter, most: int = MOST_TOKENS) -> list[dict[str, Any]]:
    """Return the tokens whose presence has the most information about the label, in nats, with their messages by label.

    There are none if the tokens are hashed with a key, or counted by a learner.

    Examples
    --------
    >>> model = SpamFilter()
    >>> for mail, label in [("free pills", "spam"), ("free lunch", "ham"), ("pills", "spam")]:
    ...     model.learn_one(mail, label)
    >>> telling_tokens(model, most=1)
    [{'token': 'lunch', 'information': 0.6365141682948128, 'wanted': 1.0, 'unwanted': 0.0}]
    """
    if model.token_key is not None:
        return []
    try:
        counted = model.export_counts()
    except NotSupported:
        return []
    messages = np.array(counted["messages"], float)
    if not counted["tokens"] or not messages.all():
        return []
    names = list(counted["tokens"])
    present = np.minimum(np.array(list(counted["tokens"].values()), float), messages)
    total = messages.sum()
    information = np.zeros(len(names))
    for observed in (present, messages - present):
        share = observed / total
        expected = observed.sum(axis=1, keepdims=True) * messages / total**2
        ratio = np.divide(share, expected, out=np.ones_like(share), where=share > 0.0)
        information += (share * np.log(ratio)).sum(axis=1)
    best = sorted(range(len(names)), key=lambda i: (-information[i], names[i]))[:most]
    return [
        {
            "token": names[i],
            "information": float(information[i]),
            "wanted": counted["tokens"][names[i]][0],
            "unwanted": sum(counted["tokens"][names[i]][1:]),
        }
        for i in best
    ]


def evidence_of_mail(tokens: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the tokens that decided, the strongest first, as JSON values."""
    return [
        {
            "token": each.token,
            "adds": as_json(each.adds),
            "wanted": as_json(each.wanted),
            "unwanted": as_json(each.unwanted),
        }
        for each in tokens[:MOST_EVIDENCE]
    ]

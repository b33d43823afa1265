"""Mail: messages to tokens, and the spam filter."""

from stream_bayes.mail.filter.explanation import SpamExplanation
from stream_bayes.mail.filter.filter import SpamFilter
from stream_bayes.mail.filter.user_filter import UserFilter
from stream_bayes.mail.text.limits import Limits
from stream_bayes.mail.text.transformer import EmailTokens

__all__ = ["EmailTokens", "Limits", "SpamExplanation", "SpamFilter", "UserFilter"]

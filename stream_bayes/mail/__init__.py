"""Mail: messages to tokens, and the spam filter."""

from stream_bayes.mail.email_tokens import EmailTokens
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.mail.limits import Limits
from stream_bayes.mail.spam_explanation import SpamExplanation

__all__ = ["EmailTokens", "Limits", "SpamExplanation", "SpamFilter"]

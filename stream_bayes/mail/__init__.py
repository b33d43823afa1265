"""Mail: messages to tokens, and the spam filter."""

from stream_bayes.lazy_imports import front

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading `typing` takes longer than classifying a mail
    from stream_bayes.mail.filter.explanation import SpamExplanation
    from stream_bayes.mail.filter.filter import SpamFilter
    from stream_bayes.mail.filter.user_filter import UserFilter
    from stream_bayes.mail.text.limits import Limits
    from stream_bayes.mail.text.transformer import EmailTokens

__all__ = ["EmailTokens", "Limits", "SpamExplanation", "SpamFilter", "UserFilter"]

__getattr__, __dir__ = front(
    __name__,
    {
        "mail.filter.explanation": ("SpamExplanation",),
        "mail.filter.filter": ("SpamFilter",),
        "mail.filter.user_filter": ("UserFilter",),
        "mail.text.limits": ("Limits",),
        "mail.text.transformer": ("EmailTokens",),
    },
)

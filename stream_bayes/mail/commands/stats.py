"""`stream-bayes spam stats`: the size of a filter and what it has learned."""

from __future__ import annotations

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, print_json, print_table
from stream_bayes.learners.wrappers.decision_rules import Costs
from stream_bayes.mail.commands.options import UserHomeOptions, user_home
from stream_bayes.mail.filter.profiles import spam_threshold
from stream_bayes.mail.store.home import SpamHome

__all__ = ["stats"]


def stats(home: UserHomeOptions, json: JSON = False) -> None:
    """Show the number of messages and tokens that the filter has learned, and its memory."""
    with exit_on_error():
        spam_home: SpamHome = home.open()
        if home.user is not None:
            spam_home = user_home(spam_home, home.user, spam_home.load())
        model = spam_home.load()
        rows = {
            **{f"{label} messages": round(number, 3) for label, number in model.messages.items()},
            "messages learned": model.clock,
            "messages that can be corrected": model.correctable,
            "tokens": model.tokens,
            "bytes in memory": model.memory_bytes,
            "bytes on disk": spam_home.state.stat().st_size + spam_home.journal.size(),
            "learns": model.train,
        }
        if isinstance(model.rule, Costs):
            rows["spam threshold"] = round(spam_threshold(model.rule, model.classes, {}) or 1.0, 4)
        if json:
            print_json({name.replace(" ", "_"): value for name, value in rows.items()})
        else:
            print_table(
                f"spam filter in {spam_home.directory}",
                [{"": name, "value": value} for name, value in rows.items()],
                right=("value",),
            )

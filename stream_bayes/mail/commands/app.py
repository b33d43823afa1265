"""The group of commands `stream-bayes spam`."""

from __future__ import annotations

from typing import Any

from stream_bayes.cli.command_table import command_group

__all__ = ["spam"]

UNPARSED = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}

TABLE: dict[str, Any] = {
    "train": (
        "stream_bayes.mail.commands.train:train",
        "Learn labelled mail. A message learned before is corrected if its label differs, and skipped otherwise.",
    ),
    "classify": (
        "stream_bayes.mail.commands.classify:classify",
        "Print the verdict on each message. Exit codes: 0 spam, 1 ham, 2 unsure, 3 error.",
        UNPARSED,
    ),
    "filter": (
        "stream_bayes.mail.commands.classify:filter_",
        "Copy a mail from stdin to stdout with the verdict in a header; unchanged on any error. Exit codes as "
        "classify.",
        UNPARSED,
    ),
    "explain": (
        "stream_bayes.mail.commands.explain:explain",
        "Show the tokens that decided the verdict on a message, and the weight of each.",
    ),
    "learn": (
        "stream_bayes.mail.commands.learn:learn",
        "Learn a few messages, and save each at once. For folders use `train`.",
    ),
    "sent": (
        "stream_bayes.mail.commands.sent:sent",
        "Learn from mails that were sent to whom they were written: mail from these people is then evidence.",
    ),
    "correct": (
        "stream_bayes.mail.commands.learn:correct",
        "Set the true label of messages. What they added under another label is removed exactly.",
    ),
    "forget": (
        "stream_bayes.mail.commands.learn:forget",
        "Remove everything that messages added to the filter, as if they had never been learned.",
    ),
    "forget-user": (
        "stream_bayes.mail.commands.users:forget_user",
        "Delete the filters of users, and remove from the site's filter what it learned from them.",
    ),
    "users": (
        "stream_bayes.mail.commands.users:users",
        "List the users who have a filter of their own, and the size of each.",
    ),
    "tune": (
        "stream_bayes.mail.commands.tune:tune",
        "Show the cost of each threshold on the newest labelled messages. With an option, set the costs of mistakes "
        "first.",
    ),
    "stats": (
        "stream_bayes.mail.commands.stats:stats",
        "Show the number of messages and tokens that the filter has learned, and its memory.",
    ),
    "export": (
        "stream_bayes.mail.commands.counts:export",
        "Write the counts of messages and tokens by class as JSON for other programs, or as a base for other filters.",
    ),
    "init": (
        "stream_bayes.mail.commands.counts:init",
        "Begin a filter with what others have learned, which its own mail soon outweighs.",
    ),
    "import": (
        "stream_bayes.mail.commands.counts:import_",
        "Add counts from `export`, bogofilter or SpamAssassin to the filter: all, or none if the file has an error.",
    ),
    "merge": (
        "stream_bayes.mail.commands.counts:merge",
        "Add the counts of another filter with the same settings, which stays unchanged.",
    ),
    "serve": (
        "stream_bayes.mail.commands.serve:serve",
        "Serve the filter to the commands on single mails and to mail systems, until SIGTERM or Ctrl-C.",
    ),
}
spam = command_group("spam", "Train, query, correct and serve the spam filter.", TABLE)

"""The group of commands `stream-bayes spam`."""

from __future__ import annotations

import typer

from stream_bayes.cli.options import flattened
from stream_bayes.mail.commands.classify import classify, filter_
from stream_bayes.mail.commands.counts import export, import_, merge
from stream_bayes.mail.commands.explain import explain
from stream_bayes.mail.commands.learn import correct, forget, learn
from stream_bayes.mail.commands.serve import serve
from stream_bayes.mail.commands.stats import stats
from stream_bayes.mail.commands.train import train
from stream_bayes.mail.commands.tune import tune
from stream_bayes.mail.commands.users import forget_user, users

__all__ = ["spam"]

UNPARSED = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}

spam = typer.Typer(name="spam", help="Train, query, correct and serve the spam filter.", no_args_is_help=True)
spam.command()(flattened(train))
spam.command(context_settings=UNPARSED)(classify)
spam.command("filter", context_settings=UNPARSED)(filter_)
spam.command()(flattened(explain))
spam.command()(flattened(learn))
spam.command()(flattened(correct))
spam.command()(flattened(forget))
spam.command("forget-user")(flattened(forget_user))
spam.command()(flattened(users))
spam.command()(flattened(tune))
spam.command()(flattened(stats))
spam.command()(flattened(export))
spam.command("import")(flattened(import_))
spam.command()(flattened(merge))
spam.command()(flattened(serve))

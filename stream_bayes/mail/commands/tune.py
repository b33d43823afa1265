"""`stream-bayes spam tune`: the cost of each threshold on recent mail."""

from __future__ import annotations

from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, print_json, print_table
from stream_bayes.errors import BadValue
from stream_bayes.mail.commands.options import CostOptions, UserHomeOptions, report_waiting, user_home
from stream_bayes.mail.filter.profiles import spam_threshold, threshold_prices

__all__ = ["tune"]


def tune(costs: CostOptions, home: UserHomeOptions, *, json: JSON = False) -> None:
    """Show the cost of each threshold on the newest labelled messages. With an option, set the costs of mistakes first.

    Each message counts with the score that it had before it was learned. The price of a threshold is the cost of its
    mistakes, in spams let through, by the costs that the filter has after this command.
    """
    with exit_on_error():
        spam_home = home.open()
        if not costs.is_given():
            model = home.load()
        elif home.user is None:
            with spam_home.changing(None, report_waiting) as model:
                model.set_costs(costs.costs(model.classes))
        else:
            of_user = user_home(spam_home, home.user, spam_home.load())
            with of_user.changing(of_user.new_filter, report_waiting) as model:
                model.set_costs(costs.costs(model.classes))
        scored = model.recent_probabilities()
        if not scored:
            raise BadValue("no thresholds to compare: learn messages of both labels first")
        ham = sum(not is_spam for _, is_spam in scored)
        present = spam_threshold(model.rule, model.classes, {}) or 1.0
        rows = [
            {
                "lost_ham": each.lost_ham,
                "spam_from": each.threshold,
                "ham_lost": each.ham_lost,
                "ham_unsure": each.ham_unsure,
                "spam_missed": each.spam_missed,
                "spam_unsure": each.spam_unsure,
                "price": each.price,
            }
            for each in threshold_prices(scored, model.classes, model.rule, costs.unsure)
        ]
        if json:
            print_json({"ham": ham, "spam": len(scored) - ham, "spam_from": present, "thresholds": rows})
            return
        shown = [
            {
                **{name.replace("_", " "): value for name, value in row.items()},
                "spam from": f"{100 * row['spam_from']:.2f} %",
                "price": f"{row['price']:,.1f}",
            }
            for row in rows
        ]
        title = f"the newest {ham:,} ham and {len(scored) - ham:,} spam; now spam from {100 * present:.2f} %"
        print_table(title, shown, right=tuple(shown[0]))

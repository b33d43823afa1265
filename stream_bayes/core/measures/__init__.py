"""Prequential evaluation: losses and measures of a stream of predictions.

`losses.Losses` scores one event after the other and keeps three views of them: a `tally` over all events, a fading
tally, and a `scored_window` of the newest ones. `measures.Measures` reads accuracy, kappa, log-loss and the rest from a
tally; `ranking` has ROC AUC and `bootstrap` confidence intervals. `surprises` has the mean surprise of networks without
a class. `label_codes` numbers the labels, `state` saves everything.
"""

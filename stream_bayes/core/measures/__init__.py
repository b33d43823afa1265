"""Prequential evaluation: losses and measures of a stream of predictions; distributions of numbers.

`losses` scores one event after the other and keeps three views of them: a `tally` over all events, a fading tally, and
a `scored_window` of the newest ones. `classification_measures` reads accuracy, kappa, log-loss and the rest from a
tally; `ranking` has ROC AUC, `calibration` the reliability of probabilities and `bootstrap` confidence intervals.
`label_codes` numbers the labels, `state` saves everything. `number_losses` scores predicted numbers, whose
distributions wait as `sampled_distribution`. Of models without a class, `surprises` has the mean surprise, `score_tail`
the p-value of one, and `variable_errors` the losses of each number.

`student_t`, `truncated_student` and `student_mixture` are distributions of numbers, `dirichlet` of probabilities.
`mutual_information` is read from counts, and `coverage_control` keeps the share of events whose set of labels holds
the true one.
"""

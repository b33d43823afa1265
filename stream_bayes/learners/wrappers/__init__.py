"""Learners around a learner.

`sliding_window` unlearns what leaves a window, `half_life_choice` predicts by the best of several half-lives,
`half_life_regression` does the same for numbers, as one of the `wrapped_regressors`, which answer with one of several,
`model_per_key` has a model for each customer, with the events of all as its prior,
`deciding_classifier` decides by `decision_rules` (costs, thresholds), `prediction_sets` answers with sets of labels
that cover, and `value_of_information` says what a feature or a label is worth before it is known, summed over its
`possible_values`.
"""

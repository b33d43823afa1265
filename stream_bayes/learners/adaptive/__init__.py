"""Experts over a stream, mixed by how well they predict: the learner to use when you do not know which.

`experts` lists the experts, `expert_inputs` adds what some of them see besides the features (the last labels, numbers
relative to their recent mean, `_trends`), `_encoding` turns an event into rows for all, read once and written in the
codes of each by `_translation`, `_expert_panel` lets all predict it and mixes the answers, and `sleeping_experts`
decides which sleep. `_event_loop` is the loop over many events. Where a store has
no room for all features, `information` ranks them, and it is filled anew from `_newest_events`, as it is when numbers
have left their bins (`moved_numbers`). `adaptive_bayes` is the learner, and `mixture_explanation` explains it.

`adaptive_regression` is the same for numbers: its `_regression_experts` see `regression_columns`, and
`regression_state` saves them.
"""

"""Tokens to a verdict: ham, spam, a further class, or unsure.

`filter` has the public verbs. `one_against_rest` is the contest of two labels: wanted and unwanted, or one class and
the rest.
`scorer` is the protocol of scorers: `token_scorer` (the margin of a linear model plus twice the mean log-odds of the
clear tokens, with a `second_opinion` by 4-grams of characters) or `learner_scorer`; by `length_weights` a padded
message hardly counts. `calibration` turns scores into probabilities, the costs of mistakes (`profiles`) decide, and
`verdict` makes the judgement that mail systems get.
`training` chooses the messages to learn, and `rehearsal` those to learn again; `receipts` record what a message added,
in whole numbers, so that it is removed exactly and in any order. `ages` says which tokens expire. `explanation`
explains, and `state` saves. `messages` are as they arrive, `arguments` makes a filter for a pipeline, `other_filters`
reads counts of other programs. `user_filter` is a user's small filter over that of a site, and `base_model` what others
may begin with.
"""

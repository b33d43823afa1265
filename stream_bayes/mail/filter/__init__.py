"""Tokens to a verdict: ham, unsure or spam.

`filter` has the public verbs. `scorer` is the protocol of scorers: `token_scorer` (the margin of a linear model plus
twice the mean log-odds of the clear tokens) or `learner_scorer`. `calibration` turns scores into P(spam), the costs of
mistakes (`profiles`) decide, and `verdict` makes the judgement that mail systems get. `training` chooses the messages
to learn, and `rehearsal` those to learn again; `receipts` record what a message added, in whole numbers, so that it is
removed exactly and in any order. `explanation` explains, and `state` saves. `user_filter` is a user's small filter over
that of a site.
"""

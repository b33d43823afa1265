"""Models behind the engine: learners, River's classifiers and pipelines, models that products bring.

`protocol` is what the engine calls, and `served` picks the adapter: `learner`, `mixture` (`AdaptiveBayes`),
`regressor`, `targets` (several numbers), `network`, `events` (models without labels), `river`, or one of
`product_models`. `unwrapping` finds the model that answers. `answers` holds the predictions of a batch, `corrections`
replaces a learned label, `background` runs searches on a thread, and `name_limit` bounds the names of features.
"""

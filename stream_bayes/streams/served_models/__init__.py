"""Models behind the engine: learners, River's classifiers and pipelines, the spam filter.

`served` is the protocol and picks the adapter: its own for learners, `river`, or `spam`. `answers` holds the
predictions of a batch, `corrections` replaces a learned label, `background` runs searches on a thread.
"""

"""Events of a stream, stream time, and late labels.

`event` defines events, partitions and positions; `time` the clocks that events move; `time_merge` the order of several
partitions. `pending` matches samples with labels and corrections that come later: events go in, `actions` for the
engine come out. `pending_state` holds what is pending for each key, and saves it. `unlearn_spans` joins the samples of
a span with their labels again.
"""

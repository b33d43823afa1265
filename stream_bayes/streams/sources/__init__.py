"""Sources by one call, and those that are no file and no topic.

`constructors` opens files, iterables and topics; `file_formats` tells the format of a file by its ending. `iterable`
wraps any iterable, `merged` merges sources by time, `paced` slows one down, `labelled` joins labels from a log,
`journaled` repeats what a journal holds; the last three are each a `source_around` another. `binned_labels` makes
classes of a numeric target, `cut_sketch` finds cuts.
"""

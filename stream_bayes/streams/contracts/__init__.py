"""Protocols between the engine and the outside world.

`source`            Source: polled for records; can seek to a position
`sink`              Sink: receives results in batches; what a result holds
`continuity_marks`  what shows that a source still holds what was read from it
`recovery`          Recovery: what a start checks, resumes and replays
`slices`            ranges of positions that a batch was read from
`incidents`         counters of faults, kept by sources, sinks and journals
"""

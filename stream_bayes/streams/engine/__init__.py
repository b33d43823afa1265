"""The loop: poll, predict, score, learn, write, commit, snapshot.

`engine` runs it and starts from a snapshot; `step` is what happens to each event, and `dead_letters` what becomes of
those that cannot be used. `saving` takes snapshots when they are due and writes them in the background;
`setting_changes` finds what changed since a snapshot; `progress` counts; `newest_answers` holds the newest answers for
the service. `time_check` warns of event times that cannot be right. `commands` unlearn spans, which `history` reads
again. `challengers` are models beside the pipeline's own.
"""

"""The loop: poll, predict, score, learn, write, commit, snapshot.

`engine` runs it and starts from a snapshot; `step` is what happens to each event, and `dead_letters` what becomes of
those that cannot be used. `model_time` is the clock of a model that fades, with what waits until it starts. `saving`
takes snapshots when they are due and writes them in the background; `setting_changes` finds what changed since a
snapshot, and `rebuild_check` what a rebuild lacks; `progress` counts; `newest_answers` holds the newest answers for the
service. `time_check` warns of times of events that cannot be right. `commands` unlearn spans, which `history` reads
again. `challengers` are models beside the pipeline's own.
"""

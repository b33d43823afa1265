"""The program `stream-bayes`, with a file for each command or group of commands in `commands`.

`app` has the table of commands (`command_table`), `exit_codes` maps errors to exit codes, `output` prints tables and
JSON, and `progress` the bar and the summary of a run. A new command is a function in a file of its own.

`options` has the groups of options that several commands share: dataclasses such as `DataOptions` of `data_file`,
`DecisionOptions` of `decision_rules`, and `ServeOptions` of `service`, which runs the HTTP service of a command.
`arguments` parses NAME=VALUE.

`data_file` opens the data file that a command is given, `tasks` decides between classes and numbers, `training` learns
the rows, `unseen_values` counts values that a model never learned, `learned_ranges` numbers outside of those that it
learned, and `networks` makes models without a class.
`comparison` compares models; `inspection` looks for what is odd in rows (`leaks` for features that give the label
away), and `inspection_page` shows it. `runners` has runners of pipelines that are no single engine.
"""

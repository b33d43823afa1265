"""The program `stream-bayes`: a file for each command or group of commands, named as the command is.

`app` gathers the commands; those of the spam filter have a folder, `spam`. A new command is a function in a file of its
own, registered in `app`. Options that several commands share are fields of a dataclass, which a command takes as one
parameter: `DataOptions` of `data_file`, `DecisionOptions`, `ServeOptions`; `option_groups` gives each of them to the
command line.

`data_file` opens the data file that a command is given, `training` learns its rows, `comparison` compares models on
them, `networks` makes those without a class, and `arguments` parses NAME=VALUE. `output` prints tables and JSON,
`progress` the bar and the summary of a run; `service` is the HTTP service of a command, and `exit_codes` maps errors to
exit codes.
"""

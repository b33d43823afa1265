"""The program `stream-bayes`: a file for each command or group of commands, named as the command is.

`app` gathers the commands. `data_file` opens the CSV or JSON lines file that a command is given, `compared_models`
makes the models of `compare`, and `arguments` parses NAME=VALUE. `output` prints tables and JSON, `progress` the bar
and the summary of a run; `exit_codes` maps errors to exit codes. A new command is a function in a file of its own,
registered in `app`.
"""

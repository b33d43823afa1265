"""The commands of the program, a file for each command or group of commands, named as the command is."""

"""The command line: `stream-bayes ...`, a file a group of commands."""

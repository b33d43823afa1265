"""`stream-bayes spam ...`: one file per command or group of commands, the options that they share, and their `app`."""

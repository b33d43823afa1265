"""`stream-bayes spam ...`: a file for each command or few, the options they share, and `app`, which gathers them."""

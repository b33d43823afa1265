"""Networks to and from the files of other tools."""

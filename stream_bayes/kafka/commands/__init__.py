"""Commands of the program that write topics."""

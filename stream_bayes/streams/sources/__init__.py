"""Sources that are no file and no topic: any iterable, and a stream at the pace at which it happened."""

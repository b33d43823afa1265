"""Sources that are no file and no topic: any iterable, several sources merged by time, a paced stream."""

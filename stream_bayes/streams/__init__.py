"""Where a stream meets the world: files, sockets, clocks and threads."""

"""The pure core: counts, encodings and kernels. No files, sockets, clocks, threads or global randomness."""

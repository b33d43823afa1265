"""The front door: limits of connections, requests and memory that all listening sockets share, and HTTP behind them."""

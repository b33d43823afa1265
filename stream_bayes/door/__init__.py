"""The front door: limits of connections, requests and memory that all listening sockets share, and HTTP behind them.

`connections` bounds the open ones, `request_reading` the time and `input_budget` the bytes of requests. `http_server`
runs an `application`: its routes stand behind the `request_checks` of `host_names`, tokens, rates and sizes.
`query_numbers` parses the numbers of requests. `problems` words what is refused, and `refusals` counts it.
"""

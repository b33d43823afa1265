"""A running pipeline as a service.

`metrics_and_health` answers over HTTP, with the `timings` of records and batches; `logs` writes JSON lines, and
`signals` ends a run at SIGTERM and Ctrl-C.
"""

"""A running pipeline as a service: `metrics_and_health` has these, `logs` JSON lines, `signals` SIGTERM and Ctrl-C."""

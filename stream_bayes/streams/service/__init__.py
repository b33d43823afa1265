"""A running pipeline as a service: `ops` has metrics and health, `logs` JSON lines, `signals` SIGTERM and Ctrl-C."""

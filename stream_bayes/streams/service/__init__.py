"""A running pipeline as a service: `ops` serves metrics and health, `logs` writes JSON lines, `signals` stop a run."""

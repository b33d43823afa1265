"""CSV and JSON lines as sources and sinks, and the directory of snapshots."""

"""Pipeline files: from TOML to running objects."""

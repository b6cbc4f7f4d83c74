"""The `msgx` command."""

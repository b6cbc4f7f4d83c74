"""The command line ``msgx``; :mod:`supervisor.cli.main` puts it together."""

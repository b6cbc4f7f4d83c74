"""The command line ``msgx``; :mod:`supervisor.cli.main` is where it begins."""

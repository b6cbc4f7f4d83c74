"""The process: leadership, duties, pump calls, backfill, Kafka relay, command line."""

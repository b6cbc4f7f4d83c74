"""A simulated airport, private servers and the demo: everything production does not need."""

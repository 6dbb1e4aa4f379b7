"""The user's own throughput beside what systems recorded."""

"""The user's throughput file."""

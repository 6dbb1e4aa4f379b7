"""Queueing networks: throughput and response of work."""

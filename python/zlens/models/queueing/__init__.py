"""Processors as a queue: how long work waits."""

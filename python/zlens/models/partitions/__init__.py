"""Partitions of a machine: what each gets by weights and caps."""

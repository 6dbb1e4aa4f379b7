"""Partitions of a machine: allocation by weights and caps."""

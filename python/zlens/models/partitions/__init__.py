"""Partitions of a machine: who gets what by weights and caps."""

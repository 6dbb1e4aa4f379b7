"""Ledgers of an input: accounts that add up, from a machine to its jobs (facts/ledgers)."""

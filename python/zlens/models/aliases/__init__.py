"""Parallel access volumes: how many aliases a pool needs."""

"""Parallel access volumes: number of aliases that a pool needs."""

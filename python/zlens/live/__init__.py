"""Live analysis of running systems: [live.md](../../../docs/live.md)."""

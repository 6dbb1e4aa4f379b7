"""Following systems while they run: [live.md](../../../docs/live.md)."""

"""The running system: its data as they arrive."""

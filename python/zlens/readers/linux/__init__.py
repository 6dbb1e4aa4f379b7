"""Linux on Z: what it tells of its machine, and its CPU-MF counters."""

"""Linux on Z: its machine information and its CPU MF counters."""

"""Measures for other monitoring: the newest interval of every system as metrics of Prometheus."""

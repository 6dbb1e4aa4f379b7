"""Prometheus metrics of the newest interval of every system, with alerts and dashboards."""

"""Metrics of a Hardware Management Console."""

"""Metrics as text, from an exporter of the Hardware Management Console or RMF's Distributed Data Server."""

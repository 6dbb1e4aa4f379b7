"""Metrics as text: an exporter of the Hardware Management Console, RMF's Distributed Data Server."""

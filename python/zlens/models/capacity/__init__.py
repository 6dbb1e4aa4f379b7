"""Capacity of a machine by its number of processors."""

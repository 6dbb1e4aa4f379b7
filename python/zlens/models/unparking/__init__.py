"""Parking and unparking of vertical cores."""

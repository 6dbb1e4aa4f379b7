"""Paging of z/VM: demand, and what the paging devices take."""

"""Listings: reports that were printed, read back by the definitions they are printed from."""

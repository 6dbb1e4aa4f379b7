"""Listings: printed reports, read with the report definitions that zlens prints from."""

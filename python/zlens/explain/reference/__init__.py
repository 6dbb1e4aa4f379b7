"""The reference pages of the documentation site, from the catalog."""

"""The pages of docs/reference, from the catalog."""

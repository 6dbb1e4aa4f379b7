"""Sessions: open inputs, queries on them, and the tables that come from no record."""

"""Sessions: open inputs, queries on them, and the tables without records."""

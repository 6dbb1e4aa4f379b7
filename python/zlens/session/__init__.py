"""Sessions: inputs that are open, questions asked of them, and the tables that come from no record."""

"""The SQL engine: queries over raw tables, roles and measures."""

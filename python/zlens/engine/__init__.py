"""The SQL engine: questions over raw tables, roles and measures."""

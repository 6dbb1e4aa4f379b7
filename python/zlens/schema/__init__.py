"""TOML files and small text files of the user: parsed once, with line numbers in errors."""

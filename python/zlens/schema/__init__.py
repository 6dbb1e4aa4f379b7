"""TOML files and small text files of the user: parsed once, with the lines of errors."""

"""What comes as TOML or as a small text of the user: parsed once, with the lines of what is wrong."""

"""The catalog: facts about records, fields, measures and reports as TOML, and the code that reads them."""

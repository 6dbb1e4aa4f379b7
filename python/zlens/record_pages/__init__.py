"""Imports IBM's record pages: converts their text to layouts of the catalog."""

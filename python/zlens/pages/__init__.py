"""Import of IBM's pages of record layouts: from their text to layouts of the catalog."""

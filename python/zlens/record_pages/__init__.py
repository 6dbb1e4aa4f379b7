"""Import of IBM's record layout pages: from their text to layouts of the catalog."""

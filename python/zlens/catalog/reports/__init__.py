"""Reports as data: definitions, their files and menus."""

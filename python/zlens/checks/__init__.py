"""`zlens catalog check`: consistency checks of the facts of the catalog."""

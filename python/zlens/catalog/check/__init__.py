"""`zlens catalog check`: whether the facts of the catalog are consistent."""

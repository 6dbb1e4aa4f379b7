"""`zlens explain`: where a number comes from, what it is made of, and why it may be missing."""

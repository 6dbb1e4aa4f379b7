"""`zlens explain`: the origin of a number, its inputs, and why it may be missing."""

"""z/OS text: processor displays, HIS counters and messages about machine changes."""

"""Machine: partitions, z/VM systems, their users, devices and work."""

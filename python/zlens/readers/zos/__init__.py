"""Texts of z/OS: what it displays of its processors, and of HIS."""

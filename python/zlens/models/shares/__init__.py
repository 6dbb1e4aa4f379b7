"""Guests of a z/VM system: allocation by shares and limits."""

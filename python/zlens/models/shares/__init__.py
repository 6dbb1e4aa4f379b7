"""Guests of a z/VM system: who gets what by shares and limits."""

"""Multithreading of a measured interval."""

from zlens.lab.smt_switch import switched

__all__ = ["switched"]

"""Simultaneous multithreading: the capacity of cores with one and with two threads."""

"""Simultaneous multithreading: capacity of cores with one and two threads."""

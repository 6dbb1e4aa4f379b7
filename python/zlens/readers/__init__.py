"""Readers: from files to raw tables. One package per platform, one module per format.

A reader module has NAME, `detect` and `open_files`, and is listed in `recognition.READERS`. It does not
depend on measures.
"""

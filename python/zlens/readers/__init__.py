"""Readers: from files to raw tables. One room per platform, one module per format.

A reader module has NAME, `detect` and `open_files`, and is listed in `recognition.READERS`. It knows its
format and nothing of measures.
"""

"""The server of the page: endpoints over one opened session, and access control.

Only `app.py` handles HTTP. Each group of endpoints is a module of plain functions that take a `Place` (the
opened inputs) and checked parameters and return JSON values; `endpoints.py` lists them all.
"""

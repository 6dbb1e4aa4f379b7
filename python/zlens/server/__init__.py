"""The server of the web UI: endpoints over a workspace, and access control.

Only `app.py` handles HTTP. Each group of endpoints is a module of functions that accept a `Workspace` and
checked parameters and return JSON values; the package `endpoints` declares them, by subject.
"""

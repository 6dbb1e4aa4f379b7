"""The page: its questions as endpoints over one opened session, and what guards them.

`app.py` is the only module that knows HTTP. Every family of questions is a module of plain functions from a
`Place` (what was opened) and checked values to what JSON can hold; `endpoints.py` lists them all.
"""

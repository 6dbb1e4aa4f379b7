"""The rig: scenarios whose right answers are known, run and compared with them.

A file says what is simulated, what is varied, what is expected (from a solver or a publication), which measure
observes it, and which differences are allowed. `run` expands it, `runners` make monitor data, `observed` reduces
them by the ordinary measures, `verdict` compares.
"""

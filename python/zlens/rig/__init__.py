"""The rig: runs scenarios with known results and compares what is observed.

A file names a scenario, what is varied, what is expected (from a solver or a publication), the measure that
observes it, and the differences that are allowed. `jobs` lists its runs, `runners` make their monitor data,
`observed` reduces these by the ordinary measures, `verdict` compares, `results` has all of it.
"""

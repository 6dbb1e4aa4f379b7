"""The rig: runs scenarios with known results and compares what is observed.

A file names a scenario, what is varied, what is expected (from a solver or a publication), the measure that
observes it, and the allowed differences. `jobs` lists its runs, `runners` produce their monitor data,
`observed_values` reduces it by the ordinary measures, `verdict` compares, `results` contains the outcome.
"""

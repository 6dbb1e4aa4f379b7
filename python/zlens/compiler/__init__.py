"""Compiler of measures: from the catalog's graph of columns, formulas, roles and joins to SQL.

sql_tree   which columns a statement reads, and how to narrow a statement to some of its columns
nodes      what statements read from: raw tables, roles, helpers, measures; their columns and types
roles      SQL of a role's rows, from the raw tables of an input
formulas   SQL of a measure's columns over roles and helpers
plan       one statement for some columns of a measure, and the raw columns that it reads
"""

-- _generations: machine generations of an input's counters.
SELECT DISTINCT {generation} AS generation
FROM _counter AS counter

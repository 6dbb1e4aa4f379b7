-- _generations: the machine generations that the counters of an input are of.
SELECT DISTINCT {generation} AS generation
FROM _counter AS counter

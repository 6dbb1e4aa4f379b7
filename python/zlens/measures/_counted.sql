-- _counted: counters with the machine generation that says what they mean. A system whose counters contradict each
-- other is left out: what its numbers mean is not known.
SELECT counter.*, {generation} AS generation, {generation_by} AS generation_by
FROM _counter AS counter
ANTI JOIN _breach USING (system, source)

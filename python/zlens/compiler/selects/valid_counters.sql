-- materialized
-- _valid_counters: counters with the machine generation that determines their meaning, and with facts about the
-- processor from other records of the system, since SMF 113 reported its type late. Samples whose counters
-- contradict each other are omitted, as are systems with many of them: the meaning of their counters is
-- unknown.
SELECT
    counter.* REPLACE (
        CASE WHEN counter.cpu_type = 'ZCBP' THEN 'ZCBP' ELSE coalesce(placed.cpu_type, counter.cpu_type) END AS cpu_type,
        coalesce(counter.core_id, placed.core_id) AS core_id
    ),
    placed.polarity, placed.parked_pct,
    {generation} AS generation, {generation_by} AS generation_by
FROM _counter AS counter
LEFT JOIN _processor_facts AS placed USING (system, source, interval_end, cpu_id)
ANTI JOIN _contradicting_samples USING (system, source, interval_end, cpu_id)
ANTI JOIN (SELECT system, source FROM _contradicting_systems WHERE of_system) USING (system, source)

-- _counter_problems: rows of `problem` about counters: systems and samples that are withheld, unknown machines, lost or
-- impossible counters, and other records with another type or other intervals.
SELECT
    system, source, CASE WHEN of_system THEN 'section' ELSE 'impossible' END AS kind,
    CASE
        WHEN of_system THEN 'CPU MF of this system is not shown: '
        ELSE 'CPU MF of ' || times || ' of ' || samples || ' samples is left out: '
    END || text || ' (processor ' || coalesce(CAST(cpu_id AS VARCHAR), '?')
    || ', ' || strftime(first_end, '%Y-%m-%d %H:%M:%S') || ' UTC: ' || format('{:.0f}', found) || ' against '
    || format('{:.0f}', allowed) || '; ' || times || CASE times WHEN 1 THEN ' time in all)' ELSE ' times in all)' END AS detail
FROM _contradicting_systems
UNION ALL
SELECT
    system, source, 'no_layout' AS kind,
    'counters of ' || count(*) || ' samples: ' || generation_by AS detail
FROM _valid_counters
-- A listing has metrics, which need no machine.
WHERE generation IS NULL AND printed_instructions IS NULL
GROUP BY system, source, generation_by
UNION ALL
SELECT
    system, source, 'section' AS kind,
    'more cycles than the processor''s speed in the record allows, in ' || count(*) FILTER (WHERE over) || ' of '
    || count(*) || ' samples, first of processor ' || coalesce(CAST(arg_min(cpu_id, (interval_end, cpu_id)) FILTER (WHERE over)
    AS VARCHAR), '?') || ', ' || strftime(min(interval_end) FILTER (WHERE over), '%Y-%m-%d %H:%M:%S') || ' UTC: '
    || format('{:.0f}', CAST(arg_min(c0, (interval_end, cpu_id)) FILTER (WHERE over) AS DOUBLE)) || ' against '
    || format('{:.0f}', CAST(arg_min(available, (interval_end, cpu_id)) FILTER (WHERE over) AS DOUBLE)) AS detail
FROM (
    SELECT *, NOT coalesce(lost, false) AND coalesce(c0 > 1.01 * available, false) AS over FROM _valid_counters
)
GROUP BY system, source
HAVING bool_or(over)
UNION ALL
SELECT
    system, source, 'gap' AS kind,
    'counters were lost, as their records say, in ' || count(*) FILTER (WHERE lost) || ' of ' || count(*)
    || ' samples, first of processor ' || coalesce(CAST(arg_min(cpu_id, (interval_end, cpu_id)) FILTER (WHERE lost) AS VARCHAR),
    '?') || ', ' || strftime(min(interval_end) FILTER (WHERE lost), '%Y-%m-%d %H:%M:%S') || ' UTC: their values '
    || 'may be too low' AS detail
FROM _counter
-- In other sources the same role means that counts were scaled up.
WHERE source = 'smf'
GROUP BY system, source
HAVING bool_or(lost)
UNION ALL
SELECT
    counter.system, counter.source, 'section' AS kind,
    'type of processor ' || string_agg(DISTINCT counter.cpu_id, ', ' ORDER BY counter.cpu_id) || ': '
    || counter.cpu_type || ' in the records of the counters, ' || placed.cpu_type || ' in those of ' || placed.told_by
    || '; shown as ' || placed.cpu_type AS detail
FROM _counter AS counter
JOIN _processor_facts AS placed USING (system, source, interval_end, cpu_id)
WHERE counter.cpu_type <> placed.cpu_type AND counter.cpu_type <> 'ZCBP'
GROUP BY counter.system, counter.source, counter.cpu_type, placed.cpu_type, placed.told_by
UNION ALL
SELECT
    system, source, 'time' AS kind,
    'intervals of the counters do not end with those of ' || told_by || ' (' || count(*) FILTER (WHERE apart) || ' of '
    || count(*) || ' samples): polarity and parked time are joined by overlap, and polarity is left out where it '
    || 'changed meanwhile' || CASE source WHEN 'smf' THEN '; SMFINTVAL=SYNC of HIS lets them end together' ELSE '' END
    AS detail
FROM _processor_facts
GROUP BY system, source, told_by
HAVING count(*) FILTER (WHERE apart) > 0.1 * count(*)

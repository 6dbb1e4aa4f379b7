-- materialized
-- _ledger_place: machine and partition of a system. Times of a source that are local are not joined with
-- others: it has a machine of its own.
SELECT
    system, source, lpar AS partition, utc_offset_s,
    coalesce(machine, system) || CASE WHEN local_time THEN ' (' || system || ', local time)' ELSE '' END AS machine,
    coalesce(greatest(mt_cp, mt_ifl, mt_icf, mt_ziip) > 1, false) AS is_threaded
FROM system

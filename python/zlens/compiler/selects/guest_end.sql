-- _guest_end: use by a virtual CPU until its guest logged off or a transaction of it ended. If samples
-- contain the times of guests (D4R3), only the use after the last sample before a logoff is new. Otherwise
-- the use since the previous record is all that is known. Without a previous sample or record, it is the use
-- since logon, which is known to be in the recorded time only if the logon is. A row is as long as the time
-- it covers; if that begins before the recording, use and length are unknown. `used` are six times since
-- logon, in the order of the columns below, `base` their previous values; `counted` and `last_counted` are
-- counts.
WITH ends AS (
    SELECT
        *,
        coalesce(lag(tod) OVER same, new_logon) AS last_tod,
        coalesce(lag(used) OVER same, CASE WHEN new_logon IS NOT NULL THEN [0, 0, 0, 0, 0, 0] END) AS last_used,
        coalesce(
            lag(counted) OVER same,
            CASE WHEN new_logon IS NOT NULL THEN [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] END
        ) AS last_counted
    FROM (
        SELECT
            e.*,
            CASE WHEN e.logon >= s.first_time THEN e.logon END AS new_logon,
            [cpu_time, cpu_time_mt1, cpu_time_prorated, virtual_time, virtual_time_mt1, virtual_time_prorated]
                AS used,
            [
                page_reads, page_writes, page_steals, page_faults, console_ios, dasd_ios, unit_record_ios,
                ctca_ios, other_ios, avoided_ios, block_ios, iucv_sends, iucv_receives
            ] AS counted
        FROM role.guest_end AS e
        JOIN system AS s USING (system, source)
    )
    WINDOW same AS (PARTITION BY system, source, userid, vcpu, logon ORDER BY tod)
),
placed AS (
    SELECT
        e.*, i.interval_end, i.before,
        (e.system, e.source) IN (SELECT (system, source) FROM role.guest_sample WHERE cpu_time IS NOT NULL)
            AS sampled
    FROM ends AS e
    JOIN _interval AS within
        ON within.system = e.system AND within.source = e.source AND within.interval_end = e.recorded_in
    JOIN (
        SELECT
            *,
            lag(interval_end, 1, interval_start) OVER (PARTITION BY system, source ORDER BY interval_end) AS before
        FROM interval
    ) AS i
        ON i.system = e.system AND i.source = e.source AND i.interval_end = within.bucket_end
),
-- The sample before a logoff; with --every it may be in the same interval.
last_sample AS (
    SELECT
        p.system, p.source, p.userid, p.vcpu, p.tod,
        arg_max(
            [
                g.cpu_time, g.cpu_time_mt1, g.cpu_time_prorated,
                g.virtual_time, g.virtual_time_mt1, g.virtual_time_prorated
            ],
            g.moment
        ) AS used,
        max(g.moment) AS moment
    FROM placed AS p
    JOIN role.guest_sample AS g
        ON g.system = p.system AND g.source = p.source AND g.userid = p.userid AND g.vcpu = p.vcpu
        AND g.recorded_in BETWEEN p.before AND p.interval_end
        AND coalesce(g.logon = p.logon, true) AND g.moment < p.tod
    WHERE p.sampled AND p.kind = 'logoff'
    GROUP BY p.system, p.source, p.userid, p.vcpu, p.tod
),
based AS (
    SELECT
        p.*,
        CASE
            WHEN NOT p.sampled THEN p.last_used
            WHEN s.tod IS NOT NULL THEN s.used
            WHEN p.logon > p.before THEN [0, 0, 0, 0, 0, 0]
        END AS base,
        epoch(p.tod - CASE WHEN p.sampled THEN coalesce(s.moment, p.logon) ELSE p.last_tod END) AS seconds
    FROM placed AS p
    LEFT JOIN last_sample AS s USING (system, source, userid, vcpu, tod)
    WHERE NOT p.sampled OR p.kind = 'logoff'
)
SELECT
    sampled, system, source, interval_end, seconds, CAST(NULL AS VARCHAR) AS flag,
    -- Its part of the length of the guest's row; the virtual CPUs of a guest end at the same time.
    seconds / count(*) OVER (PARTITION BY system, source, interval_end, userid, tod) AS span,
    CASE WHEN sampled OR kind <> 'logoff' THEN kind ELSE 'session' END AS basis, userid, vcpu, cpu_type, account, logon,
    CASE WHEN used[1] >= base[1] THEN used[1] - base[1] END AS cpu_time,
    CASE WHEN used[2] >= base[2] THEN used[2] - base[2] END AS cpu_time_mt1,
    CASE WHEN used[3] >= base[3] THEN used[3] - base[3] END AS cpu_time_prorated,
    CASE WHEN used[4] >= base[4] THEN used[4] - base[4] END AS virtual_time,
    CASE WHEN used[5] >= base[5] THEN used[5] - base[5] END AS virtual_time_mt1,
    CASE WHEN used[6] >= base[6] THEN used[6] - base[6] END AS virtual_time_prorated,
    CASE WHEN NOT sampled AND counted[1] >= last_counted[1] THEN counted[1] - last_counted[1] END AS page_reads,
    CASE WHEN NOT sampled AND counted[2] >= last_counted[2] THEN counted[2] - last_counted[2] END AS page_writes,
    CASE WHEN NOT sampled AND counted[3] >= last_counted[3] THEN counted[3] - last_counted[3] END AS page_steals,
    CASE WHEN NOT sampled AND counted[4] >= last_counted[4] THEN counted[4] - last_counted[4] END AS page_faults,
    CASE WHEN NOT sampled AND counted[5] >= last_counted[5] THEN counted[5] - last_counted[5] END AS console_ios,
    CASE WHEN NOT sampled AND counted[6] >= last_counted[6] THEN counted[6] - last_counted[6] END AS dasd_ios,
    CASE WHEN NOT sampled AND counted[7] >= last_counted[7] THEN counted[7] - last_counted[7] END AS unit_record_ios,
    CASE WHEN NOT sampled AND counted[8] >= last_counted[8] THEN counted[8] - last_counted[8] END AS ctca_ios,
    CASE WHEN NOT sampled AND counted[9] >= last_counted[9] THEN counted[9] - last_counted[9] END AS other_ios,
    CASE WHEN NOT sampled AND counted[10] >= last_counted[10] THEN counted[10] - last_counted[10] END AS avoided_ios,
    CASE WHEN NOT sampled AND counted[11] >= last_counted[11] THEN counted[11] - last_counted[11] END AS block_ios,
    CASE WHEN NOT sampled AND counted[12] >= last_counted[12] THEN counted[12] - last_counted[12] END AS iucv_sends,
    CASE WHEN NOT sampled AND counted[13] >= last_counted[13] THEN counted[13] - last_counted[13] END AS iucv_receives,
    CASE WHEN NOT sampled THEN resident_low END AS resident_low,
    CASE WHEN NOT sampled THEN resident_high END AS resident_high,
    CASE WHEN NOT sampled THEN locked END AS locked,
    CASE WHEN NOT sampled THEN working_set END AS working_set,
    CASE WHEN NOT sampled THEN slots END AS slots,
    CASE WHEN NOT sampled THEN reserved END AS reserved,
    CASE WHEN NOT sampled THEN storage END AS storage,
    CASE WHEN NOT sampled THEN spool_pages END AS spool_pages,
    CASE WHEN NOT sampled THEN relative_share END AS relative_share,
    CASE WHEN NOT sampled THEN absolute_share END AS absolute_share,
    CASE WHEN NOT sampled THEN max_share END AS max_share
FROM based

-- guest_cpu: one row per interval and virtual processor, and one more for what it used after its last sample.
SELECT {columns}
FROM _guest AS guest
LEFT JOIN _guest_state AS guest_state USING (system, source, interval_end, userid, vcpu, basis)

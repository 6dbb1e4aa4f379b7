-- guest: one row per interval and virtual machine, its virtual processors added.
SELECT {columns}
FROM _guest AS guest
LEFT JOIN _guest_state AS guest_state USING (system, source, interval_end, userid, vcpu, basis)
LEFT JOIN _guest_transaction AS guest_transaction USING (system, source, interval_end, userid)
GROUP BY guest.system, guest.source, guest.interval_end, guest.userid

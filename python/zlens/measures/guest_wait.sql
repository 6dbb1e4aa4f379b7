-- guest_wait: one row per interval and virtual processor whose states were sampled.
SELECT {columns}
FROM role.guest_state AS guest_state

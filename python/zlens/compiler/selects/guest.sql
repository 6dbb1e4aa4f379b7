-- _guest: use by virtual CPUs: between samples, and after the last sample of a guest that logged off.
SELECT *, CAST(NULL AS DOUBLE) AS span FROM role.guest
UNION ALL BY NAME
SELECT * FROM _guest_end

-- _guest: what virtual processors used: between samples, and after the last one of those whose user logged off.
SELECT *, CAST(NULL AS DOUBLE) AS span FROM role.guest
UNION ALL BY NAME
SELECT * FROM _guest_end

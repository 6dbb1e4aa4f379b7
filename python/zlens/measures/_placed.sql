-- _placed: where the processors that counted were, as another record of the same system tells it: the one in the
-- middle of the interval, because sources need not end their intervals at the same moment.
SELECT
    counter.system, counter.source, counter.interval_end, counter.cpu_id,
    any_value(place.polarity) AS polarity,
    any_value(100 * place.parked_time / nullif(place.seconds, 0)) AS parked_pct
FROM role.counter AS counter
ASOF JOIN (
    SELECT processor.*
    FROM role.processor AS processor
    JOIN system AS host USING (system, source)
    WHERE NOT coalesce(host.local_time, false)
) AS place
    ON place.system = counter.system
    AND place.cpu_id = counter.cpu_id
    AND place.interval_end >= counter.interval_end - to_seconds(coalesce(counter.seconds, 0) / 2)
WHERE place.interval_end - to_seconds(place.seconds) < counter.interval_end
GROUP BY counter.system, counter.source, counter.interval_end, counter.cpu_id

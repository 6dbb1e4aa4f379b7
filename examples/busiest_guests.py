"""Print the guests that used most CPU time since a time, and what else stands out.

    python busiest_guests.py monwrite.data "2010-03-09 09:00"

Checked by `mypy --strict` as a program of a user is: zlens ships its types.
"""

from __future__ import annotations

import sys

import zlens


def busiest(session: zlens.Session, count: int) -> zlens.QueryResult:
    """Return the guests with most CPU time, in seconds."""
    return session.sql(
        "SELECT system, userid, sum(cpu_s) AS cpu_s, max(interval_end) AS last_seen FROM guest "
        f"GROUP BY system, userid ORDER BY cpu_s DESC LIMIT {count}"
    )


def warnings(findings: zlens.FindingsResult) -> list[zlens.Finding]:
    return [finding for finding in findings if finding.severity != "info"]


def main(path: str, start: str | None = None) -> int:
    try:
        with zlens.open(path, start=start, tz="UTC") as session:
            zones = {info.system: info.zone() for info in session.systems}
            guests = busiest(session, 3)
            print(f"{len(guests)} guests of {', '.join(zones)}")
            for system, guest, cpu_s, last_seen in guests:
                print(f"{guest:8} {cpu_s:8.1f} s until {last_seen.astimezone(zones[system]):%H:%M}")
            for finding in warnings(session.findings()):
                print(finding)
            report: zlens.Report = session.report("user", only=[guest for _, guest, _, _ in guests])
            print(repr(report))
            return 0
    except zlens.ZlensError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))

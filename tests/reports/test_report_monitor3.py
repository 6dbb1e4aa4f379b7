"""Report monitor3: what RMF's Distributed Data Server exports, as printed."""

from __future__ import annotations

import os
from pathlib import Path

import zlens
from readers.test_dds import MADE

PRINTED = (
    """\
Capacity of the machine

Interval        MSU/h
End Time Type  of CPC
>>Mean>> CP      1000

22:13:20 CP      1000

22:15:00 CP      1000

Partitions

Interval                  MSU/h
End Time Partition Type    used
>>Mean>> PROD1     CP     420.0
>>Mean>> PROD2     CP     100.0

22:13:20 PROD1     CP     400.0
22:13:20 PROD2     CP     100.0

22:15:00 PROD1     CP     440.0
22:15:00 PROD2     CP     100.0
""",
    """\
Interval    Frames    Frames
End Time    Online Available  %CSA %ECSA  %SQA %ESQA
>>Mean>>   4194304   1048576  40.0  20.0  30.0  10.0
""",
    """\
Interval                  %CPU   %CPU   %CPU    Frames
End Time Job       ASID  Total     CP   zIIP   Working  %CSA  %SQA
>>Mean>> CICSA       81   20.0 ...... ...... .........   2.5    .5
>>Mean>> DB2A        80  150.5  100.5   50.0    250000 ..... .....
""",
    """\
Interval               %Delay %Delay %Delay %Delay %Delay %Delay %Delay %Delay %Delay %Delay
End Time Group    Kind  Total   Proc    Dev   Stor   Subs   Oper    Enq    JES    HSM    XCF
>>Mean>> ONLINE   W      12.0    8.0 ...... ...... ...... ...... ...... ...... ...... ......
""",
    """\
Interval                  Request   Storage      Free
End Time Facility %Busy      Rate        MB        MB %Used
>>Mean>> CF1       14.5   12345.6     16384      8192  50.0
""",
)


def test_two_scrapes(tmp_path: Path) -> None:
    paths = []
    for number, msu in enumerate(("400", "440")):
        path = tmp_path / f"scrape{number}.txt"
        path.write_text(MADE.replace('line_type="CP"} 400', f'line_type="CP"}} {msu}'))
        os.utime(path, (1_700_000_000 + 100 * number,) * 2)
        paths.append(str(path))
    with zlens.open(paths) as session:
        text = "\n".join(line.rstrip() for line in session.report("monitor3").splitlines())
    for part in PRINTED:
        assert part in text
    assert "For    200 Secs 00:03:20" in text

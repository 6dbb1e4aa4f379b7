"""Synthetic texts of z/OS: HIS015I, a .CNT file based on the fragment that IBM publishes, and IEE174I."""

from __future__ import annotations

import re

#: As J. Burg shows it (SHARE 8882, 2011): DISPLAY HIS on a z196, with the line that continues its command.
DISPLAY_HIS = """\
HIS015I 11.32.39 DISPLAY HIS 056
HIS      0025 ACTIVE
COMMAND: MODIFY HIS,B,TT='CMU MF COUNTERS ENABLED',CTRONLY,CTR=ALL,SI=
        SYNC
START TIME: 2010/09/23 09:52:22
END TIME:   ----/--/--  --:--:--
COMPLETION STATUS: -----
FILE PREFIX: SYSHIS20100923.095222.
COUNTER VERSION NUMBER 1: 1   COUNTER VERSION NUMBER 2: 2
COMMAND PARAMETER VALUES USED:
  TITLE=  CMU MF COUNTERS ENABLED
  PATH=   .
  COUNTER SET= BASIC, PROBLEM-STATE, CRYPTO-ACTIVITY, EXTENDED
  DURATION= NOLIMIT
  CTRONLY
  STATECHANGE= SAVE
  SMFINTVAL= SYNC
"""

#: A later one, in IBM's documented format for z/OS 2.2, with synthetic values.
DISPLAY_HIS_SERVICE = """\
HIS015I   16.00.01 DISPLAY HIS 123
HIS      0031 IDLE
COMMAND: MODIFY HIS,B,TT='A,B',PATH='/u/his/',CTR=(B,E),CNTFILE=NO,SC=IGNORE
START TIME: 2016/02/29 15:00:00
END TIME:   2016/02/29 15:30:00
COMPLETION STATUS: COMPLETE
FILE PREFIX: SYSHIS20160229.150000.
LOST SAMPLES: 12
COUNTER VERSION NUMBER 1: 1
COUNTER VERSION NUMBER 2: 4
COMMAND PARAMETER VALUES USED:
  TITLE=  A,B
  PATH=   /u/his/
  DURATION= 30 (MINUTES)
  DATALOSS= IGNORE
  STATECHANGE= IGNORE
  SMP=NO
  CNT=YES
       COUNTER SET= BASIC,EXTENDED
       CNTINTVAL= SYNC
       CNTFILE=NO
  MAP=NO
HISSERV STATUS: ACTIVE
 EVENT
  AUTHORIZED=BASIC,PROBLEM-STATE,
             EXTENDED
  ENABLED=BASIC
 SAMPLE
  AUTHORIZED=BASIC
  ENABLED=NONE
  BUFCNT= 4 (PAGES/PROCESSOR)
  SAMPFREQ= 800000 (SAMPLES/MINUTE)
PROFILER
  NAME      START                 QUERY             SAMPLE   S F
  MADEPROF  2016/02/29 15:00:00  +00:00:00:000012  +000012   A N
"""

_BASIC = (
    "CYCLE COUNT",
    "INSTRUCTION COUNT",
    "L1 I-CACHE DIRECTORY-WRITE COUNT",
    "L1 I-CACHE PENALTY CYCLE COUNT",
    "L1 D-CACHE DIRECTORY-WRITE COUNT",
    "L1 D-CACHE PENALTY CYCLE COUNT",
)
#: The time in IBM's example: 16:14:06 local time is 21:14:06 UTC by its TOD clock.
START_TOD = 0xC59D40379C442000
SECONDS = 60
END_TOD = START_TOD + SECONDS * 4_096_000_000
SPEED = 4404
#: Cycles and instructions of CPU 0 and 1; problem state has half of them.
COUNTS = {0: (SPEED * 10**6 * 30, SPEED * 10**6 * 10), 1: (SPEED * 10**6 * 15, SPEED * 10**6 * 3)}


def _row(first: int, values: list[int]) -> str:
    return f"  {first:>4}- {first + len(values) - 1:>4}  " + "  ".join(f"{value:016X}" for value in values)


def _begin(end: bool) -> list[str]:
    lines = [f"START TIME: 2010/03/01 16:14:06 START TOD: {START_TOD:016X}"]
    if end:
        lines.append(f"END TIME: 2010/03/01 16:15:06 END TOD: {END_TOD:016X}")
    else:
        lines.append("END TIME:   ----/--/--  --:--:--")
    return lines


def _values(cpu: int, counters: range) -> list[str]:
    cycles, instructions = COUNTS[cpu]
    rows = {
        0: [_row(0, [cycles, instructions, 1000, 2000]), _row(4, [3000, 4000])],
        32: [_row(32, [cycles // 2, instructions // 2, 500, 1000]), _row(36, [1500, 2000])],
        128: [_row(n, list(range(n, n + 4))) for n in range(128, 160, 4)],
    }
    return rows[counters.start]


def _head(cpu: int) -> str:
    return f"COUNTER VALUES (HEXADECIMAL) FOR CPU {cpu:02X} (CPU SPEED = {SPEED} CYCLES/MIC):"


_SETS = {"BASIC": range(6), "PROBLEM-STATE": range(32, 38), "EXTENDED": range(128, 160)}


def cnt(
    *, ends: tuple[bool, bool] = (True, True), change: str = "NO", by_set: bool = False, halves: bool = False
) -> str:
    """Return a .CNT file of a z10 with two processors.

    by_set: the values of each set follow its names; halves: eight bytes are printed as two words.
    """
    lines = [
        "HIS019I EVENT COUNTERS INFORMATION VERSION 3",
        "FILE NAME: SYSHIS20100301.161406.000.CNT",
        "COMMAND: MODIFY HIS,B,CTRONLY,CTR=ALL,SI=SYNC",
        f"STATE CHANGE: {change} MODEL: 2097-710 SEQCODE: 1234567812345678",
        "COUNTER VERSION NUMBER 1: 1   COUNTER VERSION NUMBER 2: 1",
    ]
    for name, numbers in _SETS.items():
        lines += [f"COUNTER SET= {name}", "COUNTER IDENTIFIERS:"]
        lines += [f"  {number}: {_text(name, number)}" for number in numbers]
        if by_set:
            for cpu, end in enumerate(ends):
                lines += [*_begin(end), _head(cpu), *_values(cpu, numbers)]
    if not by_set:
        for cpu, end in enumerate(ends):
            lines += [*_begin(end), _head(cpu)]
            lines += [row for numbers in _SETS.values() for row in _values(cpu, numbers)]
    if halves:
        lines = [
            re.sub(r"\b([0-9A-F]{8})([0-9A-F]{8})\b", r"\1 \2", line) if "- " in line[:8] else line
            for line in lines
        ]
    return "\n".join(lines) + "\n"


#: Cycles of the core with one thread running and with two, of 60 s at 5,200 cycles per microsecond.
ONE, TWO = 5200 * 10**6 * 30, 5200 * 10**6 * 15


def cnt_of_threads() -> str:
    """Return a .CNT file of two threads of a z15 core: the first one has the MT-diagnostic counters."""
    lines = [
        "HIS019I EVENT COUNTERS INFORMATION VERSION 3",
        "FILE NAME: SYSHIS20100301.161406.000.CNT",
        "COMMAND: MODIFY HIS,B,CTRONLY,CTR=ALL",
        "STATE CHANGE: NO MODEL: 8561-776 SEQCODE: 0000000000000078",
        "COUNTER VERSION NUMBER 1: 3   COUNTER VERSION NUMBER 2: 6",
        "COUNTER SET= MT-DIAGNOSTIC",
        "COUNTER IDENTIFIERS:",
        *(f"  {number}: MT {number}" for number in range(448, 496)),
        *_begin(True),
    ]
    for cpu in (0x28, 0x29):
        lines.append(f"COUNTER VALUES (HEXADECIMAL) FOR CPU {cpu:02X} (CPU SPEED = 5200 CYCLES/MIC):")
        lines += [_row(0, [5200 * 10**6 * 30, 10**10, 1000, 2000]), _row(4, [3000, 4000])]
    lines[-3:-3] = [_row(448, [ONE, TWO, 0, 0]), *(_row(n, [0] * 4) for n in range(452, 496, 4))]
    return "\n".join(lines) + "\n"


def _text(name: str, number: int) -> str:
    return _BASIC[number] if number < 6 else f"{name} {number}"


#: Three cores with two threads and one offline, after the display of an 8561 in the tests of zos-utilities.
DISPLAY_CORES = """\
IEE174I 14.41.05 DISPLAY M 124
CORE STATUS: HD=Y   MT=2  MT_MODE: CP=1  zIIP=2
ID    ST   ID RANGE   VP  ISCM  CPU THREAD STATUS
0000   +   0000-0001  H   FC00  +N
0001   +   0002-0003  LP  0000  +N
0014   +I  0028-0029  M   0200  ++
0017   -I  002E-002F

CPC ND = 008561.T01.IBM.02.000000000078
CPC SI = 8561.776.IBM.02.0000000000000078
          Model: T01
CPC ID = 00
CPC NAME = MADE
LP NAME = MADE1      LP ID = 1B
CSS ID  = 1
MIF ID  = B

+ ONLINE    - OFFLINE    N NOT AVAILABLE    / MIXED STATE
W WLM-MANAGED
,I        INTEGRATED INFORMATION PROCESSOR (zIIP)
CPC ND  CENTRAL PROCESSING COMPLEX NODE DESCRIPTOR
LP NAME  LOGICAL PARTITION NAME
"""

#: Of the machine of the .CNT file.
DISPLAY_CPUS = """\
IEE174I 16.20.00 DISPLAY M 125
PROCESSOR STATUS
ID  CPU                  SERIAL
00  +                    0112342097
01  +I                   0112342097
02  -W

CPC ND = 002097.E12.IBM.02.000012345678
CPC SI = 2097.710.IBM.02.1234567812345678
CPC ID = 00
CPC NAME = OLD
LP NAME = LPOLD      LP ID = 1
+ ONLINE    - OFFLINE    . DOES NOT EXIST    W WLM-MANAGED
"""

"""Small RMF reports in XML, and ways to inspect what the reader returns for them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from zlens.readers.rmf.postprocessor import RmfXmlSource
from zlens.readers.rmf.source import RmfSource

Row = dict[str, Any]
#: Opens texts or bytes as files report0.xml, report1.xml, ...; tz is the zone of their times.
Opened = Callable[..., RmfXmlSource]

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

HEADS = """Partition Name|Partition Status|Boost Type|Partition Weight|MSU Defined|MSU Actual|Capping Defined
|Capping WLM%|Num of LOG PROCs|PROC Type|Effective Dispatch Time|Total Dispatch Time
|Avg Util%: LOG PROC Effective|Avg Util%: LOG PROC Total|Avg Util%: PHYS PROC LPAR MGMT
|Avg Util%: PHYS PROC Effective|Avg Util%: PHYS PROC Total""".replace("\n", "").split("|")
ALPHA = "ALPHA|Active|None|60|0|10|N Y N|1.5|2|CP|00.06.00.000|00.06.06.000|20.00|20.33|0.17|10.00|10.17"
PHYSICAL = "*PHYSICAL*|||||||||CP||00.00.36.000|||1.00||1.00"
TOTAL = "TOTAL|||60||||||CP|00.06.00.000|00.06.42.000|||1.17|10.00|11.17"


def cells(texts: list[str]) -> str:
    return "".join(f"<col>{t}</col>" if t else "<col/>" for t in texts)


def table(heads: list[str], rows: list[str]) -> str:
    """Build a table from rows of cells separated by |; a row that starts with + is a sum."""
    body = "".join(
        f'<row refno="{n}" type="SUM">{cells(r[1:].split("|"))}</row>\n'
        if r.startswith("+")
        else f'<row refno="{n}">{cells(r.split("|"))}</row>\n'
        for n, r in enumerate(rows, 1)
    )
    return f"<table><column-headers>{cells(heads)}</column-headers>\n{body}</table>"


def variables(values: dict[str, str]) -> str:
    each = (f"<var><name>{name}</name><value>{value}</value></var>" for name, value in values.items())
    return f"<var-list>{''.join(each)}</var-list>"


def part(body: str, name: str = "") -> str:
    return f"<part>{f'<name>{name}</name>' if name else ''}{body}</part>\n"


def segment(name: str, *parts: str) -> str:
    return f"<segment><name>{name}</name>\n{''.join(parts)}</segment>\n"


CPU_HEADS = [
    *("CPU Number", "CPU Type", "Time% Online", "Time% LPAR Busy"),
    *("LOG PROC Share%", "HiperDispatch Priority"),
]
BETA = "BETA|Deactivated||||||||||||||"
PARTITION_PART = part(table(HEADS, [ALPHA, PHYSICAL, "+" + TOTAL, BETA]), "Partition Data")
OWN = {"MVS Partition Name": "ALPHA", "Initial Capping": "NO", "Group Limit": "N/A", "Image Capacity": "100"}
HEADER_PART = part(variables(OWN))
CPU_SEGMENT = segment(
    "CPU Activity",
    part(
        variables({"CPU": "3931", "Model": "704", "Sequence Code": "00000000000ABCDE", "CPC Capacity": "100"})
        + table(CPU_HEADS, ["0|CP|100.00|20.33|120.0|HIGH", "+TOTAL/AVERAGE|CP||20.33|120.0|"])
    ),
)
PARTITION_SEGMENT = segment(
    "Partition Data Report",
    HEADER_PART,
    part(
        table(
            ["Type", "Number"],
            [
                "General purpose processor (CP)|2",
                "Integrated Information Processor (zIIP)|1",
                "+Total|3",
            ],
        ),
        "Number of Physical Processors",
    ),
    PARTITION_PART,
)


def report(
    end: str = "03/02/2026-09.30.00",
    start: str | None = "03/02/2026-09.00.00",
    length: str = "30:00:000",
    body: str = CPU_SEGMENT + PARTITION_SEGMENT,
    system: str = "SYSA",
    metric: str = "CPU",
    locale: str = "en-us",
    kind: str = "Interval",
) -> str:
    begins = f'<display-start locale="{locale}">{start}</display-start>' if start else ""
    return (
        f'<postprocessor><metric id="{metric}"><description>{metric} Report</description>'
        f"<type>{kind}</type></metric>\n"
        "<version><smf-data>z/OS V3R1</smf-data><rmf-report>z/OS V3R2</rmf-report></version>"
        f"<resource><resname>{system}</resname><restype>SYSTEM</restype></resource>\n"
        f'<time-data>{begins}<display-end locale="{locale}">{end}</display-end>'
        f'<report-interval unit="minutes">{length}</report-interval>'
        '<cycle unit="milliseconds">1000</cycle></time-data>\n'
        f"{body}</postprocessor>\n"
    )


def document(*reports: str) -> str:
    return f"{DECLARATION}<ddsml>\n<server><version>ZOSV3R2</version></server>\n{''.join(reports)}</ddsml>\n"


def half_hours(count: int, **options: Any) -> list[str]:
    begin = dt.datetime(2026, 3, 2, 9)
    shown = [(begin + n * dt.timedelta(minutes=30)).strftime("%m/%d/%Y-%H.%M.%S") for n in range(count + 1)]
    return [report(end=shown[n + 1], start=shown[n], **options) for n in range(count)]


def kinds(source: RmfSource) -> list[str]:
    return [p.kind for p in source.problems()]


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


CPC_HEADS = [
    *("CPCPPNAM", "CPCPAMSU", "CPCPCAPD", "CPCPLPNO", "CPCPLEFU", "CPCPLTOU", "CPCPPLMU", "CPCPPEFU"),
    *("CPCPPTOU", "CPCPIND", "CPCPWGHT", "CPCPVCMH", "CPCPVCMM", "CPCPVCML", "CPCPUPID"),
]
#: Four CPs and one zIIP, a range of 100 s.
CPC_ROWS = [
    "*CP|||8.0|||1.1|29.4|30.5|CS|100||||",
    "ALPHA|20|N Y N|4.0|20.0|20.5|0.5|20.0|20.5|CP|60|2|1|1|4",
    "BETA|9|N N N|4.0|9.4|9.5|0.1|9.4|9.5|CP|40||||5",
    "PHYSICAL||||||0.5||0.5|CY|||||",
    "||||||||||||||",
    "*IIP|||1.0|||0.1|4.9|5.0|IS|10||||",
    "ALPHA||N Y N|1.0|4.9|5.0|0.1|4.9|5.0|IP|10||||",
]
CPC_CAPTION = {
    **{"CPCHPNAM": "ALPHA", "CPCHMOD": "3931", "CPCHMDL": "704", "CPCHCPU": "00000000000ABCDE"},
    **{"CPCHCMSU": "100", "CPCHIMSU": "100", "CPCHLMAX": "70", "CPCHGNAM": "N/A", "CPCHWF": "****"},
    **{"CPCHCPNO": "4", "CPCHIFAN": "0", "CPCHICFN": "0", "CPCHIFLN": "0", "CPCHSUPN": "1"},
    **{"CPCHMTM": "2", "CPCHMCF": "1.42", "CPCHCF": "1.3", "CPCHATD": "1.3", "CPCHPRD": "91.5"},
    **{"CPCHMTMS": "1", "CPCHMCFS": "1.0", "CPCHCFS": "1.0", "CPCHATDS": "1.0", "CPCHPRDS": "100"},
}


def monitor3(
    end: str = "140140", metric: str = "CPC", body: str | None = None, more: str = "", system: str = "SYSA"
) -> str:
    """Build a CPC report of the 100 s before a time on 2 March 2026, UTC; local time is five hours behind."""
    last = dt.datetime.strptime(f"20260302{end}", "%Y%m%d%H%M%S")
    first, behind = last - dt.timedelta(seconds=100), dt.timedelta(hours=5)
    times = {
        "local-start": first - behind,
        "local-end": last - behind,
        "utc-start": first,
        "utc-end": last,
    }
    if body is None:
        caption = variables(CPC_CAPTION).replace("var-list", "caption")
        lines = "".join(
            f'<row refno="{n}">{cells(row.split("|"))}</row>\n' for n, row in enumerate(CPC_ROWS, 1)
        )
        body = f"{caption}\n{lines}<column-headers>{cells(CPC_HEADS)}</column-headers>"
    return (
        f'<report>\n<metric id="{metric}"><description>{metric} Report</description>'
        "<format>report</format><numcols>15</numcols></metric>\n"
        f"<resource><reslabel>,{system},MVS_IMAGE</reslabel><restype>MVS_IMAGE</restype></resource>\n<time-data>"
        + "".join(f"<{name}>{time:%Y%m%d%H%M%S}</{name}>" for name, time in times.items())
        + '<gatherer-interval unit="seconds">100</gatherer-interval>'
        '<data-range unit="seconds">100</data-range>'
        f"<num-samples>100</num-samples></time-data>\n{body}{more}</report>\n"
    )

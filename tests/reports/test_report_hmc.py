"""Report hmc: what an exporter of the HMC tells, as printed."""

from __future__ import annotations

import os
from pathlib import Path

import zlens

SCRAPE = """\
zhmc_partition_processor_usage_ratio{cpc="BOX",partition="ONE"} 0.25
zhmc_partition_ifl_processor_count{cpc="BOX",partition="ONE"} 4.0
zhmc_partition_ifl_initial_processing_weight{cpc="BOX",partition="ONE"} 300
zhmc_partition_ifl_initial_processing_weight_is_capped{cpc="BOX",partition="ONE",valuetype="bool"} 1.0
zhmc_partition_processor_mode_int{cpc="BOX",partition="ONE"} 0.0
zhmc_processor_usage_ratio{cpc="BOX",processor="IFL000",type="ifl"} 0.5
zhmc_processor_usage_ratio{cpc="BOX",processor="IFL004",type="ifl"} 0.25
zhmc_processor_usage_ratio{cpc="BOX",processor="SAP00",type="sap"} 0.01
zhmc_processor_smt_thread0_usage_ratio{cpc="BOX",processor="IFL000",type="ifl"} 0.6
zhmc_processor_smt_thread1_usage_ratio{cpc="BOX",processor="IFL000",type="ifl"} 0.4
"""

PRINTED = """\
Partitions

Interval
End Time Partition            Type Ded Weight Cap Procs  %Use
22:14:00 ONE                  IFL  No     300 Yes     4  25.0

Processors

Interval                      %Thread %Thread
End Time Processor Type  %Use       0       1
22:14:00 IFL000    IFL   50.0    60.0    40.0
22:14:00 IFL004    IFL   25.0 ....... .......
22:14:00 SAP00     SAP    1.0 ....... .......
>>Type>>           IFL   37.5    60.0    40.0
>>Type>>           SAP    1.0 ....... .......
"""


def test_a_scrape(tmp_path: Path) -> None:
    path = tmp_path / "metrics.txt"
    path.write_text(SCRAPE)
    os.utime(path, (1_700_000_040, 1_700_000_040))
    with zlens.open([str(path)]) as session:
        text = "\n".join(line.rstrip() for line in session.report("hmc").splitlines())
    assert PRINTED in text
    assert "BOX" in text

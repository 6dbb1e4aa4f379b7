"""Rows of published tables of runs, as they are printed.

LARGE_PARTITIONS: IBM, "z/VM Support for Eighty Logical Processors", tables 2 and 4 to 11.
SMT: IBM, "z/VM SMT performance", the tables of the application with serialization and of the ideal one.
"""

from __future__ import annotations

from typing import Any

#: Table 2 and text: capacity adjustment factors of a 3906-M05.
CAF = {"1": 1.0, "2": 0.941, "10": 0.802, "16": 0.721, "20": 0.693, "32": 0.646, "40": 0.622, "48": 0.603}
CAF |= {"64": 0.578, "80": 0.554}

#: Processors, ETR, ITR, mean busy, ITR ratio, capability ratio.
RICH: dict[str, dict[str, tuple[float, ...]]] = {
    "table 4": {
        "A9NZ524Y": (19, 82817.32, 86810.6, 95.4, 1.00, 1.00),
        "AS2Z9140": (38, 155433.48, 162587.3, 95.6, 1.87, 1.80),
        "AS3Z9140": (57, 221439.86, 226885.1, 97.6, 2.61, 2.53),
        "AS4Z9140": (76, 265372.72, 269962.1, 98.3, 3.11, 3.21),
        "AS5Z9140": (95, 271351.24, 271622.9, 99.9, 3.13, 3.87),
    },
    "table 5": {
        "AS1R2116": (19, 84330.31, 87570.4, 96.3, 1.00, 1.00),
        "AS2R2116": (38, 162532.18, 166358.4, 97.7, 1.90, 1.80),
        "AS3R2116": (57, 228187.21, 231427.2, 98.6, 2.64, 2.53),
        "AS4R2116": (76, 294185.16, 298059.9, 98.7, 3.40, 3.21),
    },
    "table 6": {
        "AS1Z216A": (19, 86930.42, 89804.1, 96.8, 1.00, 1.00),
        "AS2Z216A": (38, 169233.84, 173217.9, 97.7, 1.93, 1.80),
        "AS3Z216A": (57, 241547.85, 245725.2, 98.3, 2.74, 2.53),
        "AS4Z216A": (76, 314145.88, 314145.9, 100.0, 3.50, 3.21),
    },
    "table 7": {
        "AS1Z216F": (19, 66448.79, 87088.8, 76.3, 1.00, 1.00),
        "AS2Z216F": (38, 127483.36, 156613.5, 81.4, 1.80, 1.80),
        "AS3Z216F": (57, 176862.63, 208564.4, 84.8, 2.39, 2.53),
        "AS4Z216F": (76, 228846.15, 260348.3, 87.9, 2.99, 3.21),
        "AS5Z216F": (95, 292037.90, 311009.5, 93.9, 3.57, 3.87),
    },
}

#: Tables with CPU MF, line by line.
PAGED_LINES: dict[str, dict[str, tuple[Any, ...]]] = {
    "table 8": {
        "run": ("AP1Z604G", "AP2Z604G", "AP3Z604G", "AP4Z604D", "AP5Z604G"),
        "processors": (16, 32, 48, 64, 80),
        "etr": (3295.34, 2589.74, 3239.92, 4143.1, 3745.58),
        "itr": (5031.1, 8778.8, 12272.4, 15873.9, 18634.7),
        "busy": (65.5, 29.5, 26.4, 26.1, 20.1),
        "guest_busy": (658.6387, 544.3393, 703.7159, 939.4967, 858.4882),
        "chargeable_busy": (296.5102, 322.3837, 476.608, 635.6118, 630.1159),
        "nonchargeable_busy": (92.7207, 78.4516, 85.5843, 98.1747, 117.7722),
        "total_busy": (1047.8696, 945.1746, 1265.9082, 1673.2832, 1606.3763),
        "tv": (1.59, 1.74, 1.8, 1.78, 1.87),
        "guest_tx": (0.1999, 0.2102, 0.2172, 0.2268, 0.2292),
        "chargeable_tx": (0.09, 0.1245, 0.1471, 0.1534, 0.1682),
        "nonchargeable_tx": (0.0281, 0.0303, 0.0264, 0.0237, 0.0314),
        "cp_tx": (0.1181, 0.1548, 0.1735, 0.1771, 0.1997),
        "cpi": (3.004, 3.105, 3.226, 3.447, 3.429),
        "complexity_cpi": (1.183, 1.155, 1.129, 1.135, 1.146),
        "finite_cpi": (1.822, 1.95, 2.096, 2.312, 2.283),
        "instructions": (5528981.83, 6138761.81, 6319576.41, 6113161.64, 6525397.94),
        "paging_rate": (211000, 182000, 184000, 195000, 201000),
        "unparked": (16, 32, 48, 64, 80),
        "itrr": (1.0, 1.745, 2.439, 3.155, 3.704),
        "expected": (1.0, 1.79, 2.51, 3.21, 3.84),
    },
    "table 9": {
        "run": ("AP1Z604F", "AP2Z604D", "AP3Z604D", "AP4Z604H", "AP5Z604D"),
        "processors": (16, 32, 48, 64, 80),
        "etr": (3184.44, 2547.23, 3133.38, 2988.47, 3417.83),
        "itr": (4921.9, 9262.7, 12737.3, 15812.0, 18987.9),
        "busy": (64.7, 27.5, 24.6, 18.9, 18.0),
        "guest_busy": (651.4086, 563.3618, 779.8798, 806.4922, 961.4873),
        "chargeable_busy": (288.0558, 252.9631, 342.3203, 338.2278, 409.1662),
        "nonchargeable_busy": (95.7314, 62.5358, 59.5531, 66.71, 69.4481),
        "total_busy": (1035.1958, 878.8607, 1181.7532, 1211.43, 1440.1016),
        "tv": (1.59, 1.56, 1.52, 1.5, 1.5),
        "guest_tx": (0.2046, 0.2212, 0.2489, 0.2699, 0.2813),
        "chargeable_tx": (0.0905, 0.0993, 0.1092, 0.1132, 0.1197),
        "nonchargeable_tx": (0.0301, 0.0246, 0.019, 0.0223, 0.0203),
        "cp_tx": (0.1205, 0.1239, 0.1283, 0.1355, 0.14),
        "cpi": (3.066, 3.062, 3.306, 3.601, 3.51),
        "complexity_cpi": (1.196, 1.169, 1.133, 1.181, 1.135),
        "finite_cpi": (1.87, 1.893, 2.173, 2.42, 2.375),
        "instructions": (5535766.41, 5876959.68, 5947287.59, 5868276.74, 6257968.36),
        "paging_rate": (217000, 180000, 186000, 219000, 198000),
        "unparked": (13.4, 12.0, 15.5, 15.6, 18.5),
        "itrr": (1.0, 1.882, 2.588, 3.213, 3.858),
        "expected": (1.0, 1.79, 2.51, 3.21, 3.84),
    },
}

#: Table 10: percent-busy of the average unparked processor.
BUSY_OF_UNPARKED = {"table 8": (65.5, 29.5, 26.4, 26.1, 20.1), "table 9": (77.2, 73.2, 76.3, 77.6, 77.8)}

#: Table 11: mean dispatch wait of clients and servers in microseconds, response time in milliseconds.
WAITS = {
    "table 8": (
        (0.36, 6.5, 0.10247),
        (0.6, 2.2, 0.22646),
        (0.66, 2.43, 0.28252),
        (0.9, 3.26, 0.35268),
        (0.73, 1.76, 0.44371),
    ),
    "table 9": (
        (1.23, 23.78, 0.09351),
        (9.58, 87.28, 0.22755),
        (11.78, 145.23, 0.27875),
        (17.89, 208.51, 0.4028),
        (16.22, 257.17, 0.40499),
    ),
}

#: The tables of the application with serialization, line by line; from client_tx on what follows from
#: them by the utilization law: CPU time in clients and elsewhere, what processors and vCPUs allow,
#: which binds.
SERIALIZATION_LINES: dict[str, tuple[Any, ...]] = {
    "run": ("SMT-0", "SMT-2", "SMT-2, 2 vCPUs", "SMT-2, 6 clients"),
    "cores": (3, 3, 3, 3),
    "processors": (3, 6, 6, 6),
    "clients": (3, 3, 3, 6),
    "client_vcpus": (1, 1, 2, 1),
    "etrr": (1.0, 0.649, 1.065, 1.303),
    "itrr": (1.0, 1.018, 1.101, 1.306),
    "response": (1.0, 1.45, 0.896, 1.701),
    "busy": (95.8, 61.1, 92.6, 95.6),
    "client_busy": (70.5, 95.4, 143.8, 73.7),
    "core_busy": (95.8, 95.5, 95.1, 95.7),
    "density": (None, 1.28, 1.95, 1.99),
    "factor": (None, 104, 149, None),
    "max_capacity_factor": (None, 115, 151, None),
    "client_tx": (2.115, 4.41, 4.051, 3.394),
    "server_tx": (0.759, 1.239, 1.166, 1.008),
    "processor_bound": (1.044, 1.062, 1.15, 1.363),
    "client_bound": (1.418, 0.68, 1.481, 1.768),
    "bound_by": ("processors", "client vCPUs", "processors", "processors"),
}
IDEAL: dict[str, tuple[float, ...]] = {
    "SMT-0": (4, 4, 1.000, 1.000, 1.000, 95.6),
    "SMT-2": (4, 8, 1.362, 1.539, 0.743, 84.6),
}


def rich(table: str) -> list[dict[str, Any]]:
    """The runs of tables 4 to 7 in numbers that somebody would write down."""
    return [
        {"name": name, "processors": int(row[0]), "etr": row[1], "busy": row[3]}
        for name, row in RICH[table].items()
    ]


def by_run(lines: dict[str, tuple[Any, ...]]) -> dict[str, dict[str, Any]]:
    """A table's columns by the name of their run."""
    return {
        name: {line: row[at] for line, row in lines.items() if line != "run"}
        for at, name in enumerate(lines["run"])
    }


#: Tables 8 and 9 by run and line, and those of the application with serialization.
PAGED = {table: by_run(lines) for table, lines in PAGED_LINES.items()}
SERIALIZATION = by_run(SERIALIZATION_LINES)


def paged(table: str) -> list[dict[str, Any]]:
    """The runs of tables 8, 9 and 11 in their raw numbers: nothing that follows from others."""
    told = ("processors", "etr", "guest_busy", "chargeable_busy", "nonchargeable_busy")
    told += ("complexity_cpi", "finite_cpi", "instructions", "unparked")
    return [
        {
            "name": name,
            **{key: row[key] for key in told},
            "response_ms": response,
            "also": {
                "paging_rate": row["paging_rate"],
                "wait_clients_us": clients,
                "wait_servers_us": servers,
            },
        }
        for (name, row), (clients, servers, response) in zip(PAGED[table].items(), WAITS[table], strict=True)
    ]


def serialization() -> list[dict[str, Any]]:
    told = ("cores", "processors", "clients", "client_vcpus", "busy", "client_busy", "core_busy")
    told += ("max_capacity_factor",)
    return [
        {
            "name": name,
            "etr": row["etrr"],
            "response_ms": row["response"],
            **{key: row[key] for key in told if row[key] is not None},
        }
        for name, row in SERIALIZATION.items()
    ]

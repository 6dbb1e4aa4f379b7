"""What weights and caps give partitions of a simulated machine: entitlement, polarity of cores, limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zlens.models.constants import constant
from zlens.models.partitions import prsm
from zlens.models.partitions.model import group_limit
from zlens.models.scenario import Scenario
from zlens.models.scenario_keys import key_table
from zlens.models.system.partitions import Entry, SystemPartition
from zlens.simulation.key_fields import lower_table

GROUP, PARTITION = key_table("partitions.group"), key_table("system.partition")


class PartitionShares:
    """Shares of the partitions of one scenario. kinds: indices of its types of cores."""

    def __init__(self, scenario: Scenario, parts: Sequence[SystemPartition], kinds: dict[str, int]) -> None:
        self._scenario, self._parts, self._kinds = scenario, parts, kinds
        self._groups = {(one["name"], one["type"]): at for at, one in enumerate(scenario["group"])}
        self._entitled: dict[tuple[str, str], float] = {}
        for kind in kinds:
            sharing = self._sharing(kind)
            amounts = self._entitlements(kind, [entry["weight"] for entry in sharing.values()])
            for number, amount in zip(sharing, amounts, strict=True):
                self._entitled[parts[number].name, kind] = amount

    def _sharing(self, kind: str) -> dict[int, Entry]:
        """Return the entries that share cores of a type, by number of their partition."""
        return {
            number: entry
            for number, part in enumerate(self._parts)
            for entry in part.cores
            if entry["type"] == kind and not entry["dedicated"]
        }

    def _entitlements(self, kind: str, weights: Sequence[float]) -> list[float]:
        own = (entry for part in self._parts for entry in part.cores if entry["type"] == kind)
        dedicated = sum(entry["cores"] for entry in own if entry["dedicated"])
        return prsm.entitlements(self._scenario["processors"][kind] - dedicated, weights)

    def _polarity(self, entry: Entry, entitled: float) -> tuple[int, int]:
        """Return the vertical-high and vertical-medium cores of a partition with this entitlement."""
        if entry["polarization"] != "vertical" or entry["dedicated"]:
            return 0, 0
        if prsm.is_integer(entitled):
            self._scenario.problem.moving["integer_entitlement"] = constant("integer_entitlement").assumed()
        polarity = prsm.vertical(entitled, entry["cores"], self._scenario["integer_entitlement"])
        return polarity.high, polarity.medium

    def groups(self) -> list[dict[str, Any]]:
        """Return the groups of partitions with their limits."""
        return [
            lower_table(
                GROUP, one, {"kind": self._kinds[one["type"]], "cap": group_limit(self._scenario, one)}
            )
            for one in self._scenario["group"]
            if one["type"] in self._kinds
        ]

    def share(self, part: SystemPartition, entry: Entry) -> dict[str, Any]:
        """Return the share of a partition in the cores of the type of an entry."""
        cores, kind, dedicated = entry["cores"], entry["type"], entry["dedicated"]
        entitled = float(cores) if dedicated else self._entitled[part.name, kind]
        highs, mediums = self._polarity(entry, entitled)
        online = cores if entry["unparked"] is None else entry["unparked"]
        caps = [entry["absolute_cap"]]
        if entry["defined_capacity"] is not None:
            caps.append(entry["defined_capacity"] / self._scenario["msu_per_core"])
        names = [entry[key] for key in ("group", "capacity_group") if entry[key] is not None]
        if len(names) > 1:
            raise self._scenario.error(
                f"partition.{part.name} is in group {names[0]} and in capacity_group {names[1]}",
                "leave one out: simulated partitions are in one group",
            )
        return lower_table(
            PARTITION,
            entry,
            {
                "kind": self._kinds[kind],
                "cores": online,
                "highs": min(highs, online),
                "mediums": max(0, min(mediums, online - highs)),
                "weight": 0 if dedicated else entry["weight"],
                "entitlement": entitled,
                "cap": min((cap for cap in caps if cap is not None), default=None),
                "group": self._groups[names[0], kind] if names else None,
            },
        )

    def after(self, command: Entry) -> list[Entry]:
        """Return what the partitions that share a type are entitled to from a change of a weight on."""
        kind = command["type"]
        sharing = self._sharing(kind)
        weights = {number: entry["weight"] for number, entry in sharing.items()}
        changes = [
            (number, one)
            for number, part in enumerate(self._parts)
            for one in part.commands
            if one["do"] == "set weight" and one["type"] == kind
        ]
        for number, one in sorted(changes, key=lambda change: (change[1]["at"], change[0])):
            weights[number] = one["weight"]
            if one is command:
                break
        found = []
        amounts = self._entitlements(kind, list(weights.values()))
        for (number, weight), entitled in zip(weights.items(), amounts, strict=True):
            highs, mediums = self._polarity(sharing[number], entitled)
            found.append({"partition": number, "weight": weight, "entitlement": entitled,
                          "highs": highs, "mediums": mediums})  # fmt: skip
        return found

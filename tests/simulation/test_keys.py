"""Tests that every scenario key sets a field of the simulator, and every field has a key."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from zlens import _native
from zlens.models.scenario import example
from zlens.models.scenario_keys import key_table
from zlens.schema.validators import ListOf, Spec
from zlens.simulation import key_fields, run

#: Fields without a key: constants, and the run time of vertical-high cores.
_CONSTANT = {
    "machine.run_time_ms.high",
    "systems.cp.settings.dspbuf",
    "systems.cp.settings.iabias",
    "systems.cp.settings.ldubuf",
    "systems.cp.unparking.lows_evenly",
    "systems.cp.unparking.pad_beyond_entitlement",
    # It follows from the types of the partition's cores.
    "systems.mode",
}
_UNKNOWN = r"unknown (field|variant) `\?`, expected (.*) at line"


@pytest.fixture(scope="module")
def lowered() -> dict[str, Any]:
    """A scenario with every structure of the simulator."""
    values = tomllib.loads(example("system"))
    values["partition"][0] |= {"smt": "SMT-2", "absolute_cap": 4.0}
    values["machine"] = {"capability": 1000, **values.get("machine", {})}
    values["group"] = [{"name": "G", "type": "IFL", "absolute_cap": 5.0}]
    values["user"][0] |= {"limit": "hard", "maximum_relative": 300}
    values["pool"] = [{"name": "P", "type": "IFL", "capacity": 2.0}]
    values["transaction"][0]["step"].append({"delay": 1.0})
    values["space"] = [{"name": "VDISK1", "user": ["WEB1"], "storage": 100.0}]
    values["switch"] = [{"name": "VSW1", "device": 0x0F00, "port": [{"user": "WEB1"}]}]
    values["function"] = [{"id": 1, "user": "WEB1", "type": 2, "format": "DMA"}]
    values["link"] = {"rate": 600.0}
    values["machine"] = {**values.get("machine", {}), "power": {}}
    values["relocation"] = [{"user": "BATCH", "to": "ZVM2"}]
    values["command"] += [
        {"at": 1, "do": "logon", "user": "WEB1"},
        {"at": 2, "do": "logoff", "user": "WEB1"},
        {"at": 3, "do": "vary on", "core": 1},
        {"at": 4, "do": "vary off", "core": 1},
        {"at": 5, "do": "set multithread", "type": "IFL", "threads": 1},
        {"at": 6, "do": "set pool", "user": "DB1", "pool": "P"},
        {"at": 7, "do": "set pool limit", "pool": "P", "limit": 1.0},
        {"at": 8, "do": "set reserved", "user": "WEB1", "reserve": 10},
        {"at": 9, "do": "set srm unparking", "unparking": "SMALL"},
        {"at": 10, "do": "set srm excessuse", "excessuse": "LOW"},
        {"at": 11, "do": "set paging alias", "on": False},
        {"at": 12, "do": "set paging hpf", "on": False},
        {"at": 13, "do": "set cu", "control_unit": "CU1", "minidisk_share": 1, "paging_share": 2},
        {"at": 14, "do": "set weight", "type": "IFL", "weight": 50},
        {"at": 15, "do": "set cap", "type": "IFL", "cap": 2.0},
        {"at": 16, "do": "set capability", "capability": 1100},
    ]
    return run.prepare(values).lowered.scenario


def tables(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tables in data with their paths; entries of a list have the path of the list."""
    if isinstance(value, list):
        for entry in value:
            yield from tables(entry, path)
    elif isinstance(value, dict):
        yield path, value
        for name, entry in value.items():
            yield from tables(entry, f"{path}.{name}" if path else name)


def expected_names(scenario: dict[str, Any], found: dict[str, Any]) -> tuple[str, set[str]]:
    """Return the fields or variants of a table, which the simulator lists for an unknown name."""
    own = dict(found)
    found.clear()
    found.update({"?": 0, **own})
    with pytest.raises(ValueError, match=_UNKNOWN) as raised:
        _native.simulate(json.dumps(scenario), {})
    del found["?"]
    kind, names = re.findall(_UNKNOWN, str(raised.value))[0]
    return kind, set(re.findall(r"`(\w+)`", names))


@pytest.fixture(scope="module")
def native(lowered: dict[str, Any]) -> dict[str, dict[str, set[str]]]:
    """Fields of structures and variants of enums of the simulator, by path."""
    names: dict[str, dict[str, set[str]]] = {"field": {}, "variant": {}}
    for path, found in tables(lowered):
        kind, expected = expected_names(lowered, found)
        names[kind][path] = expected
    return names


def set_fields(spec: Spec, base: str = "") -> Iterator[tuple[str, str]]:
    """Yield the paths of the fields that keys set, with the key."""
    for key in spec.keys:
        inner = key.kind.of if isinstance(key.kind, ListOf) else key.kind
        for target in key_fields.key_targets(key):
            path = target[1:] if target.startswith("/") else f"{base}.{target}" if base else target
            if isinstance(inner, Spec):
                yield from set_fields(inner, path)
            else:
                yield path.removesuffix("[]"), key.name


def native_paths(native: dict[str, dict[str, set[str]]]) -> set[str]:
    return {
        f"{path}.{name}" if path else name
        for names in native.values()
        for path, own in names.items()
        for name in own
    }


def test_scenario_keys_set_simulator_fields(native: dict[str, dict[str, set[str]]]) -> None:
    known = native_paths(native)
    assert not {path: key for path, key in set_fields(key_table("system.scenario")) if path not in known}


def test_simulator_fields_are_set_by_keys(native: dict[str, dict[str, set[str]]]) -> None:
    given = {path for path, _ in set_fields(key_table("system.scenario"))}
    unset = {
        path
        for path in native_paths(native)
        # A structure is set by its fields or by one key.
        if path not in native["field"].keys() | native["variant"].keys()
        and not any(f"{path}.".startswith(f"{one}.") for one in given)
    }
    assert unset == _CONSTANT


def test_simulator_gets_each_of_its_fields(
    lowered: dict[str, Any], native: dict[str, dict[str, set[str]]]
) -> None:
    """Includes optional fields, for which the simulator reports no error."""
    for path, found in tables(lowered):
        if path in native["field"]:
            assert found.keys() == native["field"][path], path

"""Partitions of a machine with the entries of their systems, and checks of consistency."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct, field

from zlens.models.partitions import model as partitions
from zlens.models.partitions import zvm_limits
from zlens.models.relocation import link as relocation_link
from zlens.models.scenario import Scenario
from zlens.models.scenario_keys import key_table
from zlens.models.shares import model as shares

Entry = dict[str, Any]
#: Monitor records have eight characters for names of users and partitions, and six for volumes.
_NAME = re.compile(r"[A-Za-z0-9@#$_+:.-]{1,8}")
_VOLUME = re.compile(r"[A-Za-z0-9@#$-]{1,6}")
_OF_COMMAND = {
    "logon": ("user",),
    "logoff": ("user",),
    "vary on": ("core",),
    "vary off": ("core",),
    "set share": ("user",),
    "set multithread": ("type", "threads"),
    "set pool": ("user", "pool"),
    "set pool limit": ("pool", "limit"),
    "set reserved": ("user", "reserve"),
    "set srm unparking": ("unparking",),
    "set srm excessuse": ("excessuse",),
    "set paging alias": ("on",),
    "set paging hpf": ("on",),
    "set cu": ("control_unit", "minidisk_share", "paging_share"),
    "set weight": ("type", "weight"),
    "set cap": ("type", "cap"),
    "set capability": ("capability",),
}
_OPERANDS = tuple(
    dict.fromkeys((*(key for keys in _OF_COMMAND.values() for key in keys), "relative", "absolute"))
)


class SystemPartition(Struct):
    """A partition: its cores, an entry for each type, and the entries of its z/VM system, if any."""

    name: str
    cores: list[Entry]
    users: list[Entry] = field(default_factory=list)
    pools: list[Entry] = field(default_factory=list)
    transactions: list[Entry] = field(default_factory=list)
    spaces: list[Entry] = field(default_factory=list)
    control_units: list[Entry] = field(default_factory=list)
    volumes: list[Entry] = field(default_factory=list)
    switches: list[Entry] = field(default_factory=list)
    functions: list[Entry] = field(default_factory=list)
    relocations: list[Entry] = field(default_factory=list)
    commands: list[Entry] = field(default_factory=list)
    #: Names of users that are relocated to it.
    arrivals: list[str] = field(default_factory=list)

    @property
    def zvm(self) -> bool:
        """Whether z/VM runs in it."""
        return bool(self.users) or self.names_zvm_release

    @property
    def names_zvm_release(self) -> bool:
        """Whether the scenario names its release of z/VM, or the release of its records."""
        return any(self.common_entry(key) is not None for key in ("zvm", "records"))

    @property
    def system(self) -> str:
        """Name of its system."""
        name: str = self.common_entry("system") or self.name
        return name

    def common_entry(self, key: str) -> Any:
        """Return the first value of a key in its entries; None if all leave it out."""
        return next((entry[key] for entry in self.cores if entry[key] is not None), None)

    def processors(self, kind: str) -> int:
        """Return its logical cores of a type."""
        return sum(entry["cores"] for entry in self.cores if entry["type"] == kind)


def partitions_scenario(scenario: Scenario, part_cores: list[Entry] | None = None) -> Scenario:
    """Return the partitions of a machine as a scenario of their own model, which shares its assumptions."""
    keys = key_table("partitions.partition").by_name
    entries = scenario["partition"] if part_cores is None else part_cores
    common = key_table("partitions.scenario").by_name
    values = {name: scenario[name] for name in common if name != "partition"}
    checked = [{name: entry[name] for name in keys} for entry in entries]
    return Scenario({"title": scenario.title, **values, "partition": checked}, scenario.problem)


def shares_scenario(scenario: Scenario, part: SystemPartition, processors: dict[str, float]) -> Scenario:
    """Return the users of a partition that are logged on at the start as a scenario of the shares model."""
    user_keys, pool_keys = key_table("shares.user").by_name, key_table("shares.pool").by_name
    users = [{name: user[name] for name in user_keys} for user in part.users if user["logged_on"]]
    pools = [{name: pool[name] for name in pool_keys} for pool in part.pools]
    given = {"processors": processors, "absolute_shares_at_most": scenario["absolute_shares_at_most"]}
    return Scenario({"title": None, **given, "user": users, "pool": pools}, scenario.problem)


def system_partitions(scenario: Scenario) -> list[SystemPartition]:
    """Return the partitions with their entries; raise ScenarioError for inconsistent ones."""
    by_name: dict[str, SystemPartition] = {}
    for entry in scenario["partition"]:
        by_name.setdefault(entry["name"], SystemPartition(entry["name"], [])).cores.append(entry)
    tables = ("user", "pool", "transaction", "space", "control_unit", "switch", "function", "relocation")
    for table in (*tables, "command"):
        for number, entry in enumerate(scenario[table], 1):
            part = _partition_of(scenario, by_name, entry, f"{table}[{number}]")
            getattr(part, "switches" if table == "switch" else f"{table}s").append(entry)
    parts = list(by_name.values())
    _place_volumes(scenario, parts)
    _add_arrivals(scenario, parts)
    partitions.check_combinations(partitions_scenario(scenario))
    for part in parts:
        _check_part(scenario, part)
    _check_numbers(scenario, parts)
    return parts


def _partition_of(
    scenario: Scenario, by_name: dict[str, SystemPartition], entry: Entry, location: str
) -> SystemPartition:
    error, name = scenario.error, entry["partition"]
    if name is not None:
        if name not in by_name:
            raise error(
                f"{location}.partition is {name}, which does not exist",
                "add [[partition]] with that name",
                f"one of {', '.join(by_name)}",
                location,
            )
        return by_name[name]
    of_zvm = [part for part in by_name.values() if part.names_zvm_release]
    if "user" in entry and entry["user"] is not None and not location.startswith("user"):
        # The user's partition applies.
        homes = [part for part in by_name.values() if entry["user"] in _names(part.users)]
        if len(homes) == 1:
            return homes[0]
    choice = of_zvm if len(by_name) > 1 else [*by_name.values()]
    if len(choice) != 1:
        raise error(
            f"{location}.partition is missing: {len(of_zvm)} of {len(by_name)} partitions have zvm",
            f'add partition = "{next(iter(by_name))}", or zvm = "7.4" to one partition',
            where=location,
        )
    return choice[0]


def _place_volumes(scenario: Scenario, all_parts: Sequence[SystemPartition]) -> None:
    for number, volume in enumerate(scenario["volume"], 1):
        unit, location = volume["control_unit"], f"volume[{number}]"
        home = next((part for part in all_parts if unit in _names(part.control_units)), None)
        if home is None:
            what = f"{location}.control_unit is {unit}, which does not exist"
            raise scenario.error(what, "add [[control_unit]] with that name", where=location)
        home.volumes.append(volume)


def _add_arrivals(scenario: Scenario, all_parts: Sequence[SystemPartition]) -> None:
    """Add the users that are relocated to other systems of the machine, where they continue."""
    error = scenario.error
    by_system = {part.system: part for part in all_parts if part.zvm}
    for part in all_parts:
        users = {user["name"]: user for user in part.users}
        for number, entry in enumerate(part.relocations, 1):
            target, user = by_system.get(entry["to"]), users.get(entry["user"])
            if target is None or target is part or user is None:
                continue
            path = f"relocation.{number}"
            own = next((one for one in target.users if one["name"] == user["name"]), None)
            if own is None:
                pool = user["pool"] if user["pool"] in _names(target.pools) else None
                target.users.append({**user, "partition": target.name, "logged_on": False, "pool": pool})
            elif own["logged_on"] or any(own[key] != user[key] for key in ("type", "virtual_cpus")):
                raise error(
                    f"{path}.user is {user['name']}, of which {target.system} has another",
                    "write logged_on = false for it there, with the same type and virtual_cpus",
                )
            steps = [step for transaction in part.transactions for step in transaction["step"]]
            if any(step["io"] is not None and user["name"] in users_of(step) for step in steps):
                raise error(
                    f"{path}.user is {user['name']}, whose transactions have I/O: their volumes stay behind",
                    f"name a member that is not simulated, or take {user['name']} out of steps with io",
                )
            target.arrivals.append(user["name"])


def _unique(scenario: Scenario, subject: str, values: Iterable[Any], cure: str = "use unique names") -> None:
    for value, times in Counter(value for value in values if value is not None).items():
        if times > 1:
            shown = f"{value:04X}" if subject.endswith("device") or subject.endswith("ssid") else value
            raise scenario.error(f"{subject} {shown} is given {times} times", cure)


def _named(scenario: Scenario, subject: str, name: str, pattern: re.Pattern[str] = _NAME) -> None:
    if not pattern.fullmatch(name):
        expected = f"a name of up to {8 if pattern is _NAME else 6} characters, as monitor records have"
        cure = "use a shorter name of letters and digits"
        raise scenario.error(f"{subject} is called {name[:40]!r}", cure, expected)


def _check_numbers(scenario: Scenario, all_parts: Sequence[SystemPartition]) -> None:
    """Check names and numbers that are unique in a machine."""
    for part in all_parts:
        _named(scenario, "a partition", part.name)
        _named(scenario, "a system", part.system)
    _unique(scenario, "system", [part.system for part in all_parts if part.zvm])
    numbers = [part.common_entry("number") for part in all_parts]
    _unique(scenario, "partition number", numbers, "use unique numbers")
    _unique(scenario, "control_unit", _names(scenario["control_unit"]))


def _check_part(scenario: Scenario, part: SystemPartition) -> None:
    error = scenario.error
    for key in ("number", "system", "storage", "ipl"):
        if len({entry[key] for entry in part.cores if entry[key] is not None}) > 1:
            raise error(f"partition.{part.name}.{key} differs between its types", "set it once")
    smt, mode = part.cores[0]["smt"], part.cores[0]["mode"]
    if not zvm_limits.is_available(zvm_limits.mode(mode), smt, (entry["type"] for entry in part.cores)):
        kinds = " and ".join(entry["type"] for entry in part.cores)
        raise error(
            f"partition.{part.name}.smt is {smt}, which {kinds} cores do not have in mode {mode}",
            'write smt = "non-SMT", or another mode',
        )
    if smt != "non-SMT" and (scenario["cp"] or {}).get("dspwdmethod") == "REBALANCE":
        raise error(f"partition.{part.name}.smt is {smt}, but cp.dspwdmethod is REBALANCE",
                    'write dspwdmethod = "RESHUFFLE": z/VM requires it for multithreading')  # fmt: skip
    load = part.common_entry("load")
    if load is not None:
        _check_profile(scenario, f"partition.{part.name}.load.profile", load["profile"])
        if part.users or load["volumes"] or load["page_rate"]:
            raise error(f"partition.{part.name}.load is of a partition with users or I/O",
                        "assign the load to one of its users")  # fmt: skip
    cure = "use unique names: users of a simulated machine have virtual CPUs of one type"
    _unique(scenario, "user", _names(part.users), cure)
    for user in part.users:
        _check_user(scenario, part, user)
    if part.users:
        processors = {entry["type"]: float(part.processors(entry["type"])) for entry in part.cores}
        shares.check_combinations(shares_scenario(scenario, part, processors))
        logons = {command["user"] for command in part.commands if command["do"] == "logon"}
        logons.update(part.arrivals)
        if not any(user["logged_on"] or user["name"] in logons for user in part.users):
            raise error(f"no user of partition {part.name} is ever logged on, so no share counts",
                        "leave logged_on = false out for one, or add [[command]] do = \"logon\"")  # fmt: skip
    _unique(scenario, "transaction", _names(part.transactions))
    _unique(scenario, "control_unit ssid", [unit["ssid"] for unit in part.control_units], "use unique IDs")
    _unique(scenario, "volume", _names(part.volumes))
    _unique(scenario, "device", [volume["device"] for volume in part.volumes], "use unique device numbers")
    for volume in part.volumes:
        _named(scenario, "a volume", volume["name"], _VOLUME)
        if any(start >= end for start, end in volume["offline"]):
            raise error(f"volume.{volume['name']}.offline ends before it begins", "order its seconds")
    for unit in part.control_units:
        if (unit["minidisk_share"] is None) != (unit["paging_share"] is None):
            raise error(f"control_unit.{unit['name']} has one of minidisk_share and paging_share",
                        "set both, or neither: first come, first served")  # fmt: skip
        if unit["minidisk_share"] == 0 == unit["paging_share"]:
            raise error(f"control_unit.{unit['name']} has shares of 0", "set a share for one of them")
    _unique(scenario, "space", _names(part.spaces))
    for space in part.spaces:
        _check_users(scenario, part, f"space.{space['name']}", space["user"])
    for transaction in part.transactions:
        _check_transaction(scenario, part, transaction)
    for switch in part.switches:
        _check_users(scenario, part, f"switch.{switch['name']}", [port["user"] for port in switch["port"]])
    for function in part.functions:
        _check_users(scenario, part, f"function.{function['id']}", [function["user"]])
    _unique(scenario, "function", [function["id"] for function in part.functions], "use unique IDs")
    _check_relocations(scenario, part)
    for number, command in enumerate(part.commands, 1):
        _check_command(scenario, part, command, number)


def _check_user(scenario: Scenario, part: SystemPartition, user: Entry) -> None:
    error, path = scenario.error, f"user.{user['name']}"
    _named(scenario, "a user", user["name"])
    if not part.processors(user["type"]):
        raise error(
            f"{path}.type is {user['type']}, but partition {part.name} has no core of that type",
            f'write type = "{part.cores[0]["type"]}", or add [[partition]] with cores of that type',
        )
    for kind in ("relative", "absolute"):
        share, maximum = user[kind], user[f"maximum_{kind}"]
        if share is not None and maximum is not None and maximum < share:
            what, expected = f"{path}.maximum_{kind} is {maximum:g}, below its share", f"at least {share:g}"
            raise error(what, f"raise it, or lower {kind}", expected)
    storage, working_set = user["storage"], user["working_set"]
    if storage is not None and working_set is not None and working_set > storage:
        expected = f"at most its storage, {storage:g}"
        raise error(f"{path}.working_set is {working_set:g}", "reduce it", expected)
    load = user["load"]
    if load is None:
        return
    _check_profile(scenario, f"{path}.load.profile", load["profile"])
    _check_volumes(scenario, part, f"{path}.load.volumes", load["volumes"])
    if load["io_rate"] and not load["volumes"]:
        raise error(f"{path}.load.io_rate is {load['io_rate']:g}, but it has no volumes",
                    'add volumes = ["DATA01"]')  # fmt: skip
    if load["page_rate"] and not any(volume["paging"] for volume in part.volumes):
        raise error(f"{path}.load.page_rate is {load['page_rate']:g}, but no volume is for paging",
                    "add [[volume]] with paging = true")  # fmt: skip


def _check_profile(scenario: Scenario, path: str, profile: Sequence[tuple[float, float]]) -> None:
    if any(current[0] <= previous[0] for previous, current in pairwise(profile)):
        raise scenario.error(f"the seconds of {path} do not increase", "order its entries by time")


def _check_volumes(scenario: Scenario, part: SystemPartition, path: str, names: Sequence[str]) -> None:
    by_name = {volume["name"]: volume for volume in part.volumes}
    for name in names:
        _known(scenario, part, f"{path} has {name}", name, by_name, "volume")
        if by_name[name]["offline"]:
            raise scenario.error(f"{path} has {name}, which is offline at times", "use another volume")


def _check_users(scenario: Scenario, part: SystemPartition, path: str, names: Sequence[str]) -> None:
    for name in names:
        _known(scenario, part, f"{path} is for {name}", name, _names(part.users), "user")


def _names(entries: Iterable[Entry]) -> list[str]:
    return [entry["name"] for entry in entries]


def _known(
    scenario: Scenario, part: SystemPartition, what: str, name: str, known: Container[str], table: str
) -> None:
    """Raise an error if an entry names another that its partition lacks. what: the beginning of its text."""
    if name not in known:
        what = f"{what}, which does not exist in partition {part.name}"
        raise scenario.error(what, f"add [[{table}]] with that name")


def users_of(step: Entry) -> list[str]:
    """Return the users that a step names."""
    user = step["user"]
    return [user] if isinstance(user, str) else list(user or [])


def _check_transaction(scenario: Scenario, part: SystemPartition, transaction: Entry) -> None:
    error, path = scenario.error, f"transaction.{transaction['name']}"
    if (transaction["customers"] is None) == (transaction["rate"] is None):
        raise error(f"{path} needs exactly one of customers and rate",
                    "write customers = 40 (closed), or rate = 5.0 (open)")  # fmt: skip
    if transaction["rate"] is not None and transaction["think"]:
        raise error(f"{path} has both rate and think", "leave think out, or set customers")
    _check_profile(scenario, f"{path}.profile", transaction["profile"])
    known = _names(part.users)
    work = 0.0
    for number, step in enumerate(transaction["step"], 1):
        here = f"{path}.step.{number}"
        does = [key for key in ("cpu", "io", "delay") if step[key] is not None]
        if len(does) != 1:
            raise error(f"{here} has {len(does)} of cpu, io and delay", "set exactly one of them")
        kind = does[0]
        work += step[kind]
        for name in users_of(step):
            _known(scenario, part, f"{here}.user is {name}", name, known, "user")
        if (kind == "delay") == bool(users_of(step)):
            raise error(f"{here} is {kind} and has {len(users_of(step))} users",
                        'add user = "LINUX1" to cpu and io, but not to delay')  # fmt: skip
        if (kind == "io") != (step["volumes"] is not None):
            raise error(f"{here}.volumes goes with io", 'write io = 1 with volumes = ["DATA01"]')
        if step["lock"] is not None and kind != "cpu":
            raise error(f"{here}.lock goes with cpu", "leave lock out")
        _check_volumes(scenario, part, f"{here}.volumes", step["volumes"] or ())
    if transaction["customers"] is not None and not work + transaction["think"]:
        raise error(f"{path} has no duration", "set a think time or work")


def _check_relocations(scenario: Scenario, part: SystemPartition) -> None:
    error = scenario.error
    by_name = {user["name"]: user for user in part.users}
    if part.relocations:
        if scenario["link"] is None:
            raise error("there are relocations, but no link", "add [link] with rate = 600")
        relocation_link.check_link(Scenario({**scenario.values, "link": scenario["link"]}, scenario.problem))
    for number, entry in enumerate(part.relocations, 1):
        path, name = f"relocation.{number}", entry["user"]
        _known(scenario, part, f"{path}.user is {name}", name, by_name, "user")
        user = by_name[name]
        if entry["to"] == part.system:
            raise error(f"{path}.to is {entry['to']}, where {name} is already", "name another member")
        least = entry["live_passes"] + entry["quiesce_passes"]
        if entry["passes_most"] < least:
            raise error(f"{path}.passes_most is {entry['passes_most']}", "increase it", f"at least {least}")
        if user["storage"] is not None and (entry["touched"] or 0) > user["storage"]:
            raise error(f"{path}.touched is {entry['touched']:g}", "reduce it",
                        f"at most the storage of {entry['user']}, {user['storage']:g}")  # fmt: skip
        if entry["touched"] is not None and (entry["changing"] or 0) > entry["touched"]:
            raise error(f"{path}.changing is {entry['changing']:g}", "reduce it",
                        f"at most what was touched, {entry['touched']:g}")  # fmt: skip
    for name, times in Counter(entry["user"] for entry in part.relocations).items():
        if times > 1:
            raise error(f"{name} is relocated {times} times from {part.system}",
                        "keep one: after it the user is elsewhere")  # fmt: skip


def _check_command(scenario: Scenario, part: SystemPartition, command: Entry, number: int) -> None:
    error, path = scenario.error, f"command {number} of {part.name}"
    needed = _OF_COMMAND[command["do"]]
    for key in _OPERANDS:
        share = command["do"] == "set share" and key in ("relative", "absolute")
        if not share and (key in needed) != (command[key] is not None):
            raise error(f"{path}, {command['do']}, {'needs' if key in needed else 'has no operand'} {key}",
                        f"{'add' if key in needed else 'leave out'} {key}")  # fmt: skip
    if command["do"] == "set share" and (command["relative"] is None) == (command["absolute"] is None):
        raise error(f"{path}, set share, needs exactly one share", "write relative = 100, or absolute = 5")
    if command["user"] is not None and command["user"] not in _names(part.users):
        raise error(f"{path} is for {command['user']}, which does not exist", "add [[user]] with that name")
    pools = {pool["name"]: pool for pool in part.pools}
    if command["pool"] is not None and command["pool"] not in pools:
        raise error(f"{path} is for {command['pool']}, which does not exist", "add [[pool]] with that name")
    if command["do"] == "set pool" and any(
        user["name"] == command["user"] and user["pool"] is not None for user in part.users
    ):
        raise error(f"{path} is for {command['user']}, which is already in a pool", "remove its pool")
    if command["do"] == "set pool limit":
        pool = pools[command["pool"]]
        if pool["limithard"] == 100:
            raise error(f"{path} is for {command['pool']}, whose limit is 100%: it is unlimited", "set one")
        if pool["capacity"] is None and command["limit"] > 100:
            raise error(f"{path} sets {command['limit']:g}%", "reduce it", "at most 100%")
    unit = command["control_unit"]
    if unit is not None:
        _known(scenario, part, f"{path} is for {unit}", unit, _names(part.control_units), "control_unit")
    cores = sum(entry["cores"] for entry in part.cores)
    if command["core"] is not None and command["core"] >= cores:
        raise error(f"{path} is for core {command['core']}", "reduce it", f"0 to {cores - 1}")
    if command["type"] is not None and not part.processors(command["type"]):
        what = f"{path} is for {command['type']}s, but {part.name} has no {command['type']}s"
        raise error(what, "name another type")
    if command["do"] in ("set weight", "set cap"):
        own = next(entry for entry in part.cores if entry["type"] == command["type"])
        if own["dedicated"]:
            raise error(f"{path}, {command['do']}, but its {command['type']} cores are dedicated",
                        "leave it out: dedicated cores have no weight and no cap")  # fmt: skip
        if command["do"] == "set cap" and own["absolute_cap"] is None:
            raise error(f"{path}, set cap, but partition.{part.name} has no absolute_cap to begin with",
                        f"write absolute_cap = {own['cores']} for none yet")  # fmt: skip
    if command["do"] == "set capability" and not (scenario["machine"] or {}).get("capability"):
        raise error(f"{path} sets the capability, but machine.capability is not given",
                    "write what it is at the beginning")  # fmt: skip
    if command["do"] == "set multithread":
        smt, mode = part.cores[0]["smt"], part.cores[0]["mode"]
        if smt == "non-SMT":
            raise error(f"{path}, set multithread, but {part.name} is non-SMT",
                        'write smt = "SMT-1" or "SMT-2": only an IPL enables multithreading')  # fmt: skip
        most = zvm_limits.threads(zvm_limits.mode(mode), "SMT-2", command["type"])
        if command["threads"] > most:
            raise error(f"{path} sets {command['threads']} threads per {command['type']} core",
                        "reduce it", f"{most}, in mode {mode}")  # fmt: skip

"""The user's emission factors: a TOML file with grams of CO2 per kilowatt-hour, for all machines or for each.

unit = "g/kWh"
co2 = 380
source = "contract with the power company, 2026"

[machine]
9175-12F17 = 25
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from zlens.errors import InputError
from zlens.schema import document, user_files
from zlens.schema.validators import Choice, DocumentErrors, Key, MapOf, Number, SingleLine, Spec

#: Joules of a kilowatt-hour.
J_PER_KWH = 3_600_000.0
_CURE = 'write: unit = "g/kWh", co2 = 380, source = "where it is from", each on a line'
_GRAMS = Number(0, 10_000)
_SPEC = Spec(
    (
        Key("unit", Choice(("g/kWh",)), "grams of CO2 per kilowatt-hour"),
        Key("co2", _GRAMS, "the factor of all machines", "g/kWh"),
        Key("source", SingleLine(), "where the factors are from"),
        Key("machine", MapOf(_GRAMS), "factors of single machines, by name", "g/kWh", default={}),
    )
)


class EmissionFactors(Struct, frozen=True):
    """Grams of CO2 per kilowatt-hour: of a machine, else `co2`. source: where the user has them from."""

    co2: float
    source: str
    machine: Mapping[str, float]

    def grams(self, machine: str | None, energy_j: float | None) -> float | None:
        """Return the grams of CO2 of an energy in joules; None if it is unknown."""
        if energy_j is None:
            return None
        factor = self.co2 if machine is None else self.machine.get(machine, self.co2)
        return energy_j / J_PER_KWH * factor


def read(path: str) -> EmissionFactors:
    """Return the factors in a file; InputError if it cannot be read or is invalid."""
    text = user_files.read_text(path, user_files.HAND_WRITTEN, "file of emission factors", _CURE)
    values = document.parse_toml(text, path, InputError, _CURE)
    problem = DocumentErrors(path, InputError, "the file of emission factors", text)
    checked = _SPEC.check(values, "", problem)
    return EmissionFactors(checked["co2"], checked["source"], checked["machine"])

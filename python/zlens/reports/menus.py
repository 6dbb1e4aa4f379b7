"""The menus of the classic reports: groups of the list of reports, which a menu's number or name lists."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from zlens.schema import document
from zlens.schema.facts import FACTS

PATH = FACTS / "menus.toml"


@dataclass(frozen=True, slots=True)
class Menu:
    """A menu; one without groups leads to all of them."""

    number: str
    name: str
    title: str
    groups: tuple[str, ...]

    def leads_to(self, group: str) -> bool:
        return not self.groups or group in self.groups


@cache
def menus() -> tuple[Menu, ...]:
    """All menus, as facts/menus.toml has them."""
    found = document.facts(PATH)["menu"]
    return tuple(Menu(one["number"], one["name"], one["title"], tuple(one["groups"])) for one in found)


def find(wanted: str) -> Menu | None:
    """The menu of that number or name, in any case; None where it is none."""
    asked = wanted.strip().upper()
    return next((menu for menu in menus() if asked and asked in (menu.number, menu.name)), None)


def heading(group: str) -> str:
    """A group with the menu that is known for it."""
    menu = next((menu for menu in menus() if group in menu.groups), None)
    return f"{group} ({f'{menu.number} {menu.name}'.strip()})" if menu else group

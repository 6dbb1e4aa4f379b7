"""Menus of the classic reports: a menu's number or name lists groups of reports."""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from zlens.schema import document
from zlens.schema.facts import FACTS

PATH = FACTS / "menus.toml"


class Menu(Struct, frozen=True):
    """A menu; one without groups leads to all of them."""

    number: str
    name: str
    title: str
    groups: tuple[str, ...]

    def contains_group(self, group: str) -> bool:
        return not self.groups or group in self.groups


@cache
def menus() -> tuple[Menu, ...]:
    """Return all menus of facts/menus.toml."""
    entries = document.load_unchecked(PATH)["menu"]
    return tuple(
        Menu(entry["number"], entry["name"], entry["title"], tuple(entry["groups"])) for entry in entries
    )


def find(text: str) -> Menu | None:
    """Return the menu with that number or name, in any case; None if there is none."""
    name = text.strip().upper()
    return next((menu for menu in menus() if name and name in (menu.number, menu.name)), None)


def heading(group: str) -> str:
    """Return the heading of a group, with its menu if it has one."""
    menu = next((menu for menu in menus() if group in menu.groups), None)
    return f"{group} ({f'{menu.number} {menu.name}'.strip()})" if menu else group

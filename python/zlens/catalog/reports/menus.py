"""Menus of the classic reports: a menu's number or name lists groups of reports."""

from typing import Annotated, ClassVar

from msgspec import field

from zlens.schema.structs import FactFile, FactTable, SourcedTable, doc


class Menu(FactTable, frozen=True):
    """A menu; one without groups leads to all of them."""

    number: Annotated[str, doc("its number")]
    name: Annotated[str, doc("its name; empty if it has none")]
    title: Annotated[str, doc("its heading")]
    groups: Annotated[tuple[str, ...], doc("groups of reports")]


class MenuFile(FactFile, SourcedTable, frozen=True):
    """All menus."""

    path: ClassVar = "menus.toml"
    note: Annotated[str, doc("a remark")]
    groups: Annotated[dict[str, str], doc("names of groups that differ from those of their folders")]
    menus: tuple[Menu, ...] = field(name="menu")


def group_of(folder: str) -> str:
    """Return the group of the reports in a folder: `PCI functions` for `pci_functions`."""
    return MenuFile.load().groups.get(folder, folder.replace("_", " "))


def find(text: str) -> Menu | None:
    """Return the menu with that number or name, in any case; None if there is none."""
    name = text.strip().upper()
    return next((menu for menu in MenuFile.load().menus if name and name in (menu.number, menu.name)), None)


def heading(group: str) -> str:
    """Return the heading of a group, with its menu if it has one."""
    menu = next((menu for menu in MenuFile.load().menus if group in menu.groups), None)
    return f"{group} ({f'{menu.number} {menu.name}'.strip()})" if menu else group

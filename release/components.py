"""Writes what the wheel, the forwarder and the web UI are built of, from Cargo.lock and the web UI's bundle.

`components.py notices` writes NOTICES.txt, the licenses of all crates, and web-ui.cdx.json, the bill of
materials of the web UI, which the wheel contains beside the one that maturin writes of its crates.
`components.py forward` prints the bill of materials of zlens-forward. Both are CycloneDX.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
NOTICES = ROOT / "NOTICES.txt"
WEB_UI = ROOT / "release" / "web-ui.cdx.json"
BUNDLE = ROOT / "python" / "zlens" / "server" / "static" / "licenses.txt"
PROGRAMS = ("zlens-native", "zlens-forward")
TARGETS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "s390x-unknown-linux-gnu",
    "aarch64-apple-darwin",
    "x86_64-apple-darwin",
)
#: LICENSE has the text of the Apache License.
_TEXTS = re.compile(r"(?i)(?!.*apache)((un)?licen[sc]e|copying|notice)")
_INTRODUCTION = """\
zlens is licensed under the Apache License 2.0; see LICENSE. Its native module and zlens-forward contain the
standard library of Rust, under the Apache License 2.0, and the Rust packages below, under the licenses that
follow or that LICENSE has. The static zlens-forward also contains the GNU C Library, under the GNU Lesser
General Public License 2.1 or later; `make forward` links it again with another one. The licenses of the web
UI's packages are in licenses.txt beside it.

`make notices` writes this file.
"""


@dataclass(frozen=True, order=True)
class Component:
    """A package that a program contains; its license is an SPDX expression."""

    name: str
    version: str
    license: str
    kind: str
    sha256: str = ""

    def entry(self) -> dict[str, Any]:
        """Return it as a component of CycloneDX."""
        purl = f"pkg:{self.kind}/{self.name.replace('@', '%40')}@{self.version.replace('+', '%2B')}"
        hashes = {"hashes": [{"alg": "SHA-256", "content": self.sha256}]} if self.sha256 else {}
        return {
            "type": "library",
            "bom-ref": purl,
            "name": self.name,
            "version": self.version,
            **hashes,
            "licenses": [{"expression": self.license}],
            "purl": purl,
        }


def crates(*programs: str) -> list[Component]:
    """Return the crates of other projects that programs contain, without those that only build them."""
    words = ["cargo", "tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none"]
    words += ["--format", "{p}|{l}", *(f"--package={name}" for name in programs)]
    words += [f"--target={name}" for name in TARGETS]
    tree = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    hashes = {(entry["name"], entry["version"]): entry.get("checksum", "") for entry in lock["package"]}
    found = set()
    for line in filter(None, tree.splitlines()):
        package, license_text = line.removesuffix(" (*)").split("|")
        name, version = package.split()[:2]
        version = version.removeprefix("v")
        # The crates of this repository have no checksum.
        if digest := hashes[name, version]:
            found.add(Component(name, version, license_text.replace("/", " OR "), "cargo", digest))
    return sorted(found)


def bundled() -> list[Component]:
    """Return the packages in the web UI's bundle, from the headings of their licenses."""
    heading = re.compile(r"^## (\S+) - (\S+) \((.+)\)$", re.MULTILINE)
    return [Component(*found, "npm") for found in heading.findall(BUNDLE.read_text(encoding="utf-8"))]


def bill(name: str, components: list[Component]) -> str:
    """Return a bill of materials, as JSON of CycloneDX; the same for the same components."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": name, "version": version}},
        "components": [component.entry() for component in components],
    }
    return json.dumps(document, indent=1) + "\n"


def notices() -> str:
    """Return the names and licenses of all crates; equal texts appear once."""
    words = ["cargo", "metadata", "--locked", "--format-version", "1"]
    metadata = json.loads(subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout)
    folders = {
        (package["name"], package["version"]): Path(package["manifest_path"]).parent
        for package in metadata["packages"]
    }
    users: dict[str, list[str]] = {}
    for crate in crates(*PROGRAMS):
        title = f"{crate.name} {crate.version} ({crate.license})"
        folder = folders[crate.name, crate.version]
        files = [path for path in sorted(folder.rglob("*")) if _TEXTS.match(path.name) and path.is_file()]
        texts = [path.read_text(encoding="utf-8") for path in files if path.suffix in ("", ".md", ".txt")]
        # A package without a text names its license only.
        for text in texts or [f"License: {crate.license}"]:
            plain = "\n".join(line.rstrip() for line in text.strip("\f\n\r ").splitlines())
            titles = users.setdefault(plain, [])
            if title not in titles:
                titles.append(title)
    rule = "-" * 80
    blocks = ["\n".join([rule, *titles, rule, "", text, ""]) for text, titles in users.items()]
    return "\n".join([_INTRODUCTION, *blocks])


if __name__ == "__main__":
    if sys.argv[1:] == ["notices"]:
        NOTICES.write_text(notices(), encoding="utf-8")
        WEB_UI.write_text(bill("zlens web UI", bundled()), encoding="utf-8")
    elif sys.argv[1:] == ["forward"]:
        sys.stdout.write(bill("zlens-forward", crates("zlens-forward")))
    else:
        sys.exit(f"usage: {sys.argv[0]} notices | forward")

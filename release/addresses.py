"""Makes the addresses in the metadata absolute, for a release: `addresses.py URL VERSION`.

URL is the repository's. Links and the picture of README.md then lead to the files of that version, and
pyproject.toml gets the project's addresses. Sources keep relative links, which work in every copy.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
_LINK = re.compile(r"(!?)\[([^]]*)\]\((?!https?:|#)([^)]+)\)")


def readme(text: str, url: str, version: str) -> str:
    """Return the text of README.md with absolute links."""

    def absolute(match: re.Match[str]) -> str:
        picture, title, path = match.groups()
        return f"{picture}[{title}]({url}/{'raw' if picture else 'blob'}/v{version}/{path})"

    return _LINK.sub(absolute, text)


def project(text: str, url: str, version: str) -> str:
    """Return the text of pyproject.toml with the project's addresses."""
    urls = {
        "Homepage": url,
        "Documentation": f"{url}/blob/v{version}/GUIDE.md",
        "Changelog": f"{url}/blob/v{version}/CHANGELOG.md",
        "Issues": f"{url}/issues",
        "Source": url,
    }
    table = "".join(f'{name} = "{address}"\n' for name, address in urls.items())
    return text.replace("[project.scripts]\n", f"[project.urls]\n{table}\n[project.scripts]\n", 1)


def main(url: str, version: str) -> None:
    for name, change in (("README.md", readme), ("pyproject.toml", project)):
        path = ROOT / name
        path.write_text(change(path.read_text(encoding="utf-8"), url, version), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Write the dashboards for Grafana and the alerts for Prometheus from the catalog, for `make contrib`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from zlens.exposition import alerts, dashboards

FOLDER = Path(__file__).parent


def files() -> dict[Path, str]:
    """The text of every file."""
    texts = {FOLDER / "prometheus" / "rules.yml": alerts.rules_file()}
    for name, dashboard in dashboards.dashboards().items():
        texts[FOLDER / "grafana" / f"{name}.json"] = json.dumps(dashboard, indent=2) + "\n"
    return texts


def main() -> int:
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

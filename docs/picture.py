"""`python docs/picture.py` serves new demo files and takes the picture of README.md, docs/overview.png."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parent / "overview.png"
VIEW = "overview?system=ZLDEMO"


def take(address: str, path: Path = PICTURE) -> None:
    """Write a picture of the overview that is served at an address, once all of it is there."""
    browsers = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    program = next(filter(None, browsers), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--font-render-hinting=none"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        page.goto(f"{address}#/{VIEW}")

        page.locator("section[aria-label=Findings] li").first.wait_for()
        page.wait_for_load_state("networkidle")
        page.screenshot(path=path)
        browser.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        zlens = [sys.executable, "-m", "zlens"]
        subprocess.run([*zlens, "demo", folder], check=True, stdout=subprocess.DEVNULL)
        serve = [*zlens, "serve", folder, "--port", "0"]
        with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                address = next(word for line in process.stdout for word in line.split() if "http://" in word)
                take(address.rstrip("/."))
            finally:
                process.terminate()


if __name__ == "__main__":
    main()

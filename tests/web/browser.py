"""Find a Chromium for the tests; as a script, install one if there is none.

python tests/web/browser.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

VARIABLE = "PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH"
NAMES = ("chromium", "chromium-browser", "google-chrome")


def find() -> str | None:
    """Return the path of a Chromium: the one that VARIABLE names, the system's or Playwright's."""
    if os.environ.get(VARIABLE):
        return os.environ[VARIABLE]
    for name in NAMES:
        if shutil.which(name):
            return shutil.which(name)
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def install() -> None:
    """Install Chromium, from Debian where that is possible, else through Playwright."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        packages = ["chromium", "fonts-noto-cjk"]  # The fonts are for the Chinese screenshots
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        install = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *packages]
        subprocess.run(install, check=True)
    else:
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)


if __name__ == "__main__":
    if find() is None:
        print("There is no Chromium here; installing one", flush=True)
        try:
            install()
        except subprocess.CalledProcessError as error:
            command = " ".join(map(str, error.cmd))
            sys.exit(f"`{command}` failed. Install Chromium yourself, or name one in {VARIABLE}")
    print(find())

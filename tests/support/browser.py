"""The Chromium of this machine."""

from __future__ import annotations

import shutil

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

"""Leaves in package-lock.json what decides the installation: no address of a registry, a sponsor or a donation page."""

from __future__ import annotations

import json
from pathlib import Path

LOCK = Path(__file__).with_name("package-lock.json")


def main() -> None:
    """Rewrites the file in place."""
    lock = json.loads(LOCK.read_text(encoding="utf-8"))
    for package in lock["packages"].values():
        for key in ("resolved", "funding"):
            package.pop(key, None)
    LOCK.write_text(json.dumps(lock, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

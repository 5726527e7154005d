"""The command ``zenserve``, or ``python -m zenserve``."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from zenserve.service import cli
    except ModuleNotFoundError as missing:
        if (missing.name or "zenserve").startswith("zenserve"):
            raise
        sys.exit(f"zenserve: {missing.name} is not installed: the command needs the extra zenserve[service]")
    cli.main()


if __name__ == "__main__":
    main()

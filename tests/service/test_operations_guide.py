"""The operations guide names every setting, its default, and no other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from zenserve.service.settings import Settings

GUIDE = Path(__file__).parents[2] / "docs" / "operations.md"
IN_WORDS = {"threads", "queues", "webhook_networks", "cors_origins", "previous_secret_keys", "oidc_groups"}


def rows() -> dict[str, str]:
    """The default as the guide gives it, by the setting's name."""
    part = GUIDE.read_text().partition("## Settings\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `ZENSERVE_([A-Z_]+)` \| (.*?) \|", part, re.MULTILINE))


def test_every_setting_is_in_the_guide_and_no_other() -> None:
    assert sorted(rows()) == sorted(name.upper() for name in Settings.model_fields)


@pytest.mark.parametrize("name", sorted(Settings.model_fields.keys() - IN_WORDS))
def test_the_guide_gives_the_default(name: str) -> None:
    default: Any = Settings.model_fields[name].default
    shown = rows()[name.upper()]
    if default is None:
        assert "`" not in shown.replace("`secret.key`", "")
    else:
        assert shown == f"`{default:g}`" if isinstance(default, float) else shown == f"`{default}`"

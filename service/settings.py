"""Everything that can be set from outside, read from ``ZENSERVE_*`` environment variables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Defaults are the embedded shape: one directory, one worker, this host only."""

    model_config = SettingsConfigDict(env_prefix="ZENSERVE_")

    data_dir: Path = Path("zenserve-data")
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=1, le=65535)
    backend: Literal["auto", "cpu", "gpu"] = "auto"
    threads: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1)
    secret_key: SecretStr | None = None
    max_body_bytes: int = Field(default=64 << 20, ge=1)
    basis_points: int = Field(default=1 << 19, ge=2)
    max_attempts: int = Field(default=3, ge=1)
    lease_seconds: float = Field(default=15.0, gt=0)
    log_level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(str.upper)] = "INFO"

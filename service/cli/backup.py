"""``zenserve backup`` and ``zenserve restore``: a whole deployment in a folder, for operators."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zenserve.service.cli import deployment, terminal
from zenserve.service.cli.answers import Answer, answering

if TYPE_CHECKING:
    from zenserve.service.backup import Manifest


@answering
def backup(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", file_okay=False, help="A new folder.")],
) -> Answer:
    """Back up the database and all artifacts into FOLDER, while the service goes on. The secret is not in
    it: keep that apart.
    """
    from zenserve.service import backup as backups

    with deployment.opened() as runtime:
        return _answer(backups.write(runtime, folder))


@answering
def restore(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", file_okay=False, exists=True, help="Of `zenserve backup`.")
    ],
) -> Answer:
    """Bring the backup in FOLDER into an empty deployment that has the secret of the one that was backed up.
    Nothing is written unless FOLDER is whole. Stop the service first.

    All openings of commitments are retired, as by `zenserve openings retire`.
    """
    from zenserve.service import backup as backups
    from zenserve.service import serve
    from zenserve.service.runtime import Runtime
    from zenserve.service.settings import Settings
    from zenserve.service.storage import private, schema, vault

    settings, manifest = Settings.read(), backups.read(folder)
    vault.require_secret(settings)
    private.close_to_others()
    runtime = Runtime.open(settings)
    try:
        with nullcontext() if settings.database_url else serve.only_one(settings.data_dir):
            if schema.revision_of(runtime.database) is None:
                schema.migrate(runtime.database)
            backups.restore(runtime, folder, manifest)
    finally:
        runtime.close()
    return _answer(manifest)


def _answer(manifest: Manifest) -> Answer:
    facts: dict[str, Any] = {
        "made_at": manifest.made_at.isoformat(),
        "rows": manifest.rows,
        "artifacts": len(manifest.artifacts),
        "bytes": manifest.bytes,
        "made_anew": len(manifest.made_anew),
    }
    return Answer(facts, (terminal.table_of(facts),))

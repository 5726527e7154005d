"""Options that say something of several inputs or outputs by their names: ``NAME=VALUE,NAME=VALUE``."""

from __future__ import annotations

from typing import Annotated, Any, Final, get_args

import typer

from zenserve.errors import RequestError
from zenserve.verifier.schemes import Privacy

_PRIVACIES: Final = get_args(Privacy)

InputPrivacy = Annotated[
    str,
    typer.Option(
        metavar="PRIVACY",
        help="Whether proofs show their input, or link to a commitment to it: private, public or committed;"
        " of several NAME=public,… as well, and others are private.",
    ),
]


def named(field: str, text: str) -> dict[str, str]:
    """Of ``NAME=VALUE,NAME=VALUE``. Raises ``RequestError``."""
    pairs = [part.partition("=") for part in text.split(",")]
    found = {name: value for name, _, value in pairs}
    if len(found) < len(pairs) or not all(found.values()):
        reason = "give NAME=VALUE,NAME=VALUE…, each name once"
        raise RequestError("request.invalid", reason, field=field)
    return found


def privacies(text: str, kinds: tuple[Privacy, ...] = _PRIVACIES) -> Any:
    """One of ``kinds``, or of ``NAME=KIND,NAME=KIND`` one by name. Raises ``RequestError``."""
    found = named("input_privacy", text) if "=" in text else text
    if not {*(found.values() if isinstance(found, dict) else [found])} <= {*kinds}:
        reason = f"give {' or '.join(kinds)}, or of several inputs NAME=public,… by their names"
        raise RequestError("request.invalid", reason, field="input_privacy")
    return found

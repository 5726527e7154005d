"""For receivers of webhooks: whether a message is from the service (Standard Webhooks, symmetric).

    event = webhooks.verify(secret, request.headers, request.body)
    if event.type == "proof.succeeded":
        ...

Answer with any 2xx within ten seconds, and do the work afterwards. A message may come more than once: ``id``
stays the same.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from zenserve.client.errors import SignatureError

_PREFIX = "whsec_"
_MOST_DIGITS = 12


@dataclass(frozen=True)
class WebhookEvent:
    """An event of a job. ``data`` tells the job's outcome; fetch its result with an API key."""

    id: str
    type: str
    timestamp: datetime
    data: dict[str, Any]


def verify(secret: str, headers: Mapping[str, str], body: bytes, *, tolerance: float = 300) -> WebhookEvent:
    """The event of a message that the service signed with ``secret`` (``whsec_…``), lately.

    ``body``: the bytes as they came; parsed and written again they would be others. ``tolerance``: seconds
    that clocks may differ, and that a message may be held up by whoever saw it. Raises ``SignatureError``,
    and ``ValueError`` for a ``secret`` that is none.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        message, sent_at, signatures = (given[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    except KeyError as missing:
        raise SignatureError(f"the message has no header {missing.args[0]}") from None
    # Digits beyond these would be no moment, and too many of them no number.
    lately = sent_at.isascii() and sent_at.isdecimal() and len(sent_at) <= _MOST_DIGITS
    if not lately or abs(time.time() - int(sent_at)) > tolerance:
        raise SignatureError(f"the message was not sent within {tolerance:g} seconds of now")
    signed = f"{message}.{sent_at}.".encode() + body
    wanted = b"v1," + base64.b64encode(hmac.digest(_key(secret), signed, hashlib.sha256))
    if not any(hmac.compare_digest(wanted, each.encode()) for each in signatures.split()):
        raise SignatureError("the message is not signed with this secret")
    document = json.loads(body)
    return WebhookEvent(
        message, document["type"], datetime.fromisoformat(document["timestamp"]), document["data"]
    )


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if not key:  # with an empty one anybody could sign
        raise ValueError(f"a webhook's secret is {_PREFIX} and base64")
    return key

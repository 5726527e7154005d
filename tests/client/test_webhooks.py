"""Messages of webhooks, as receivers judge them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import subprocess
import sys
import time

import pytest

from zenserve.client import SignatureError
from zenserve.client.webhooks import verify

KEY = bytes(range(24))
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
BODY = json.dumps(
    {
        "type": "proof.succeeded",
        "timestamp": "2026-11-21T14:00:00Z",
        "data": {"id": "prf_1", "name": "größer"},
    }
).encode()


def signed(
    body: bytes = BODY, key: bytes = KEY, message: str = "dlv_1", at: float | None = None
) -> dict[str, str]:
    sent_at = str(int(time.time() if at is None else at))
    mac = hmac.digest(key, f"{message}.{sent_at}.".encode() + body, hashlib.sha256)
    signature = f"v1,{base64.b64encode(mac).decode()}"
    return {"Webhook-Id": message, "webhook-timestamp": sent_at, "WEBHOOK-SIGNATURE": signature}


def test_a_message_of_the_service() -> None:
    event = verify(SECRET, signed(), BODY)
    assert (event.id, event.type, event.data["id"]) == ("dlv_1", "proof.succeeded", "prf_1")
    assert event.timestamp.isoformat() == "2026-11-21T14:00:00+00:00"


def test_the_example_of_the_standard() -> None:
    """From the specification's test vectors: https://www.standardwebhooks.com."""
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    with pytest.raises(KeyError):  # signed; but it is no event of ZenServe
        verify(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", headers, b'{"test": 2432232314}', tolerance=float("inf")
        )


def test_one_of_several_signatures_is_enough() -> None:
    headers = signed()
    headers["WEBHOOK-SIGNATURE"] = f"v1,{'A' * 43}= {headers['WEBHOOK-SIGNATURE']} v2,x"
    assert verify(SECRET, headers, BODY).id == "dlv_1"


@pytest.mark.parametrize("missing", ["Webhook-Id", "webhook-timestamp", "WEBHOOK-SIGNATURE"])
def test_a_message_without_a_header(missing: str) -> None:
    headers = signed()
    del headers[missing]
    with pytest.raises(SignatureError, match=missing.lower()):
        verify(SECRET, headers, BODY)


@pytest.mark.parametrize("seconds", [-301, 301])
def test_a_message_of_another_time(seconds: int) -> None:
    headers = signed(at=time.time() + seconds)
    with pytest.raises(SignatureError, match="300 seconds"):
        verify(SECRET, headers, BODY)
    assert verify(SECRET, headers, BODY, tolerance=600).id == "dlv_1"


@pytest.mark.parametrize("time_", ["", "now", "-5", "1.5", "٣", "9" * 400, "9" * 5000])
def test_a_time_that_is_none(time_: str) -> None:
    with pytest.raises(SignatureError, match="not sent within"):
        verify(SECRET, signed() | {"webhook-timestamp": time_}, BODY)


@pytest.mark.parametrize(
    "headers",
    [
        signed(key=KEY[::-1]),
        signed(body=BODY + b" "),
        signed() | {"Webhook-Id": "dlv_2"},
        signed() | {"WEBHOOK-SIGNATURE": ""},
        signed() | {"WEBHOOK-SIGNATURE": signed()["WEBHOOK-SIGNATURE"].replace("v1,", "v0,")},
        signed() | {"WEBHOOK-SIGNATURE": "v1,größer"},
    ],
    ids=["key", "body", "id", "none", "version", "not ascii"],
)
def test_a_message_of_somebody_else(headers: dict[str, str]) -> None:
    # The headers are as old as this test run.
    with pytest.raises(SignatureError, match="not signed"):
        verify(SECRET, headers, BODY, tolerance=3600)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_!!", "zen_x"])
def test_a_secret_that_is_none(secret: str) -> None:
    with pytest.raises(ValueError, match="whsec_"):
        verify(secret, signed(key=b"x"), BODY)


def test_a_receiver_needs_the_standard_library_alone() -> None:
    program = "import sys, zenserve.client.webhooks; print('httpx' in sys.modules, 'pydantic' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False", "False"]

"""``zenserve webhooks``."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zenserve.client.resources import Delivery, NewWebhook, Webhook
from zenserve.service.cli.answers import Answer
from zenserve.service.cli.shared import Limit, asking, deleted

if TYPE_CHECKING:
    from zenserve.client import Client

app = typer.Typer(help="Have addresses told when jobs are over.", no_args_is_help=True)

WebhookId = Annotated[str, typer.Argument(metavar="WEBHOOK", help="The webhook's id.")]


@app.command("add")
@asking
def add_webhook(
    service: Client,
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="https://…")],
    event: Annotated[
        list[str] | None,
        typer.Option(help="proof.succeeded, model.failed, …; once for each. All, unless given."),
    ] = None,
) -> NewWebhook:
    """Have ADDRESS told. The secret that signs the messages is shown now, and never again."""
    events: Any = event
    return service.create_webhook(address, events)


@app.command("list")
@asking
def list_webhooks(service: Client, limit: Limit = 20) -> list[Webhook]:
    """List your webhooks."""
    return list(islice(service.webhooks(), limit))


@app.command("rotate")
@asking
def rotate_webhook(service: Client, webhook_id: WebhookId) -> NewWebhook:
    """Sign with another secret, shown now and never again; for a day with the one of before, too."""
    return service.rotate_webhook(webhook_id)


@app.command("test")
@asking
def test_webhook(service: Client, webhook_id: WebhookId) -> Delivery:
    """Send a message that says nothing but that it is a test."""
    return service.test_webhook(webhook_id)


@app.command("deliveries")
@asking
def list_deliveries(service: Client, webhook_id: WebhookId, limit: Limit = 20) -> list[Delivery]:
    """List what was sent, what is to be sent, and what went wrong."""
    return list(islice(service.webhook_deliveries(webhook_id), limit))


@app.command("redeliver")
@asking
def redeliver(
    service: Client,
    webhook_id: WebhookId,
    delivery_id: Annotated[str, typer.Argument(metavar="DELIVERY", help="The delivery's id.")],
) -> Delivery:
    """Send a message again."""
    return service.redeliver(webhook_id, delivery_id)


@app.command("delete")
@asking
def delete_webhook(service: Client, webhook_id: WebhookId) -> Answer:
    """Tell that address nothing any more."""
    service.delete_webhook(webhook_id)
    return deleted(webhook_id)

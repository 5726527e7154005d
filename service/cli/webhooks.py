"""``zenserve webhooks``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.shared import Json, Limit, asking, show, show_list

if TYPE_CHECKING:
    from client import Client

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
    as_json: Json = False,
) -> None:
    """Have ADDRESS told. The secret that signs the messages is shown now, and never again."""
    events: Any = event
    show(service.create_webhook(address, events), as_json=as_json)


@app.command("list")
@asking
def list_webhooks(service: Client, limit: Limit = 20, as_json: Json = False) -> None:
    """List your webhooks."""
    show_list(service.webhooks(), limit, as_json=as_json)


@app.command("test")
@asking
def test_webhook(service: Client, webhook_id: WebhookId) -> None:
    """Send a message that says nothing but that it is a test."""
    show(service.test_webhook(webhook_id))


@app.command("deliveries")
@asking
def list_deliveries(service: Client, webhook_id: WebhookId, limit: Limit = 20, as_json: Json = False) -> None:
    """List what was sent, what is to be sent, and what went wrong."""
    show_list(service.webhook_deliveries(webhook_id), limit, as_json=as_json)


@app.command("redeliver")
@asking
def redeliver(
    service: Client,
    webhook_id: WebhookId,
    delivery_id: Annotated[str, typer.Argument(metavar="DELIVERY", help="The delivery's id.")],
) -> None:
    """Send a message again."""
    show(service.redeliver(webhook_id, delivery_id))


@app.command("delete")
@asking
def delete_webhook(service: Client, webhook_id: WebhookId) -> None:
    """Tell that address nothing any more."""
    service.delete_webhook(webhook_id)

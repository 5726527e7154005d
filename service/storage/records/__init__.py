"""The tables. A job is the truth about a piece of work; models, datasets, proofs and streams are what
jobs make.

Each shares its id with the job that makes it: one id travels through the API, the queue and the logs.
Digests name blobs in the store; what is secret is sealed there, and in the columns that say so.
Everything that a tenant made carries its ``tenant_id``, on the job or on the row itself.

Whoever imports one of them has all in ``Base.metadata``: they refer to each other.
"""

from zenserve.service.storage.records import (
    accounts,
    ceremonies,
    deployment,
    jobs,
    resources,
    streams,
    webhooks,
)

__all__ = ["accounts", "ceremonies", "deployment", "jobs", "resources", "streams", "webhooks"]

"""Endpoints of streams and their frames."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from zenserve.client import resources
from zenserve.client.calls import Calls, delete, get, listen, mapping_of, new_key, next_event, pairs, post
from zenserve.client.errors import JobError, UnreachableError
from zenserve.client.flows import Flow, Item, Pause, Stream, endpoint, listing
from zenserve.client.resources import Frame, State, read
from zenserve.verifier.schemes import PublicOrPrivate

_PAUSE_SECONDS: Final = 0.5


class Streaming(Calls):
    """Endpoints for streams and their frames."""

    @endpoint
    def create_stream(
        self,
        models: list[str],
        samples: Any,
        labels: list[int] | None = None,
        *,
        name: str = "unnamed",
        challenge: str | None = None,
        rules: Mapping[str, int] | None = None,
        input_privacy: PublicOrPrivate = "private",
        deadline_seconds: int | None = None,
        backlog: int | None = None,
        batch_seconds: int | None = None,
        job_labels: Mapping[str, str] | None = None,
        priority: int | None = None,
        idempotency_key: str | None = None,
    ) -> Flow[resources.Stream]:
        """Open a stream over a bank, the ``models``, the most accurate one first. By ``samples`` of their
        input, with the class of each, the service learns which of them is enough for which classes: of each
        class equally many. The bytes of a file of samples are uploaded, and may have the labels, too
        (docs/inputs.md). ``challenge``: a text of whoever asks for the stream. ``rules``: numbers of the
        course that are not to be the usual ones (docs/streams.md). ``deadline_seconds``: of each frame, from
        when it is handed in. ``backlog``: how many frames may wait. ``batch_seconds``: how long a frame waits
        for the others of its batch, where ``rules`` have a "batch". ``job_labels``: what to find it by in
        lists.
        """
        profile = {"samples": samples, "labels": labels}
        if isinstance(samples, bytes):
            profile = {"samples_sha256": (yield from self._upload(samples)), "labels": labels}
        body = {
            "models": models,
            "profile": profile,
            "name": name,
            "challenge": challenge,
            "rules": rules,
            "input_privacy": input_privacy,
            "deadline_seconds": deadline_seconds,
            "backlog": backlog,
            "batch_seconds": batch_seconds,
            "labels": mapping_of("job_labels", job_labels) or None,
            "priority": priority,
        }
        request = post("streams", body=body, idempotency_key=idempotency_key or new_key())
        return (yield from self._read(resources.Stream, request))

    @endpoint
    def get_stream(self, stream_id: str) -> Flow[resources.Stream]:
        """A stream, and how far it is."""
        return self._read(resources.Stream, get("streams", stream_id))

    @endpoint
    def begun(self, stream_id: str) -> Flow[resources.Stream]:
        """A stream once it takes frames: keys may have to be made. Raises ``JobError``."""
        while True:
            stream = yield from self._read(resources.Stream, get("streams", stream_id))
            if stream.begun_at is not None:
                return stream
            if stream.is_over:
                raise JobError(stream.id, stream.state, stream.problem)
            yield Pause(_PAUSE_SECONDS)

    @listing
    def streams(
        self,
        *,
        state: State | None = None,
        labels: Mapping[str, str] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Stream[resources.Stream]:
        """The tenant's streams, the newest first; with ``labels``, those that have all of them."""
        return self._pages(
            resources.Stream,
            "streams",
            state=state,
            label=pairs(labels),
            created_after=created_after,
            created_before=created_before,
        )

    @endpoint
    def add_frame(self, stream_id: str, number: int, values: Any) -> Flow[Frame]:
        """Hand in the next frame, a nested list of numbers. Handed in again, it is the same one: so while the
        backlog is full, and the service away or busy, it is sent again, as long as the client is patient.
        """
        body = {"number": number, "input": values}
        return self._read(Frame, post("streams", stream_id, "frames", body=body, repeatable=True))

    @listing
    def frames(self, stream_id: str) -> Stream[Frame]:
        """The frames, the newest first."""
        return self._pages(Frame, "streams", stream_id, "frames")

    @listing
    def follow_frames(self, stream_id: str, after: int | None = None) -> Stream[Frame]:
        """Each frame once it is over, in order, until the stream is: all of them, or those after the one of
        this number. Where something breaks the connection, it goes on where it was.
        """
        while True:
            yield from self._good(get("streams", stream_id))  # it may be gone, and the key not be good
            try:
                is_stream: bool = yield listen(get("streams", stream_id, "events"), after)
                while is_stream and (event := (yield from next_event())) is not None:
                    if event.name == "frame":
                        frame = read(Frame, json.loads(event.data))
                        yield Item(frame)
                        after = frame.number
                    elif event.name == "end":
                        return
            except UnreachableError:
                pass
            yield Pause(_PAUSE_SECONDS)

    @endpoint
    def end_stream(self, stream_id: str) -> Flow[resources.Stream]:
        """Take no more frames. The stream is over once those that it has are."""
        return self._read(resources.Stream, post("streams", stream_id, "end", repeatable=True))

    @endpoint
    def cancel_stream(self, stream_id: str) -> Flow[resources.Stream]:
        """Stop a stream: frames that are not proven yet are missed."""
        return self._cancel(resources.Stream, stream_id)

    @endpoint
    def retry_stream(self, stream_id: str) -> Flow[resources.Stream]:
        """Make the keys of a stream's bank once more, after that failed."""
        return self._retry(resources.Stream, stream_id)

    @endpoint
    def get_stream_file(self, stream_id: str) -> Flow[dict[str, Any]]:
        """The whole stream as far as its frames are over, as ``zenserve-verify`` judges it."""
        return self._json(get("streams", stream_id, "file"))

    @endpoint
    def delete_stream(self, stream_id: str) -> Flow[None]:
        """Forget a stream that is over, with the proofs of its frames."""
        return self._done(delete("streams", stream_id))

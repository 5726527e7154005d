"""The store: files of this host, and objects of a remote store with copies here."""

from __future__ import annotations

import os
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.refusals import refuses
from zenserve.errors import FileFormatError, ResourceError
from zenserve.service.storage import remote
from zenserve.service.storage.remote import Remote
from zenserve.service.storage.store import Store


@pytest.fixture
def url(s3: str) -> str:
    """An empty prefix of a bucket."""
    return f"{s3}/{secrets.token_hex(4)}/artifacts"


@pytest.fixture(params=["local", "remote"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    where = request.getfixturevalue("url") if request.param == "remote" else None
    return Store(tmp_path / "store", where)


def adopt(store: Store, content: bytes) -> str:
    with store.scratch() as path:
        path.write_bytes(content)
        return store.adopt(path)


def copies(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("??/*")}


def test_what_is_put_is_there_until_it_is_deleted(store: Store, tmp_path: Path) -> None:
    sealed, key = store.put(b"sealed"), adopt(store, b"key")
    assert store.put(b"sealed") == sealed
    assert store.get(sealed) == b"sealed"
    assert store.get(key) == store.path(key).read_bytes() == b"key"
    with store.scratch() as path:
        path.write_bytes(b"sealed")
        assert store.put_file(path) == sealed
    with store.opened(sealed) as file:
        assert file.read() == b"sealed"
    assert not list((tmp_path / "store" / "incoming").iterdir())
    for digest in (sealed, key):
        store.delete(digest)
        store.delete(digest)
        for ask in (store.get, lambda digest: store.opened(digest).__enter__()):
            with pytest.raises(FileFormatError, match="not in the store"):
                ask(digest)
    assert copies(tmp_path / "store") == set()


def test_sealed_bytes_of_a_remote_store_are_never_copied(url: str, tmp_path: Path) -> None:
    here, there = Store(tmp_path / "here", url), Store(tmp_path / "there", url)
    digest = here.put(b"sealed")
    assert there.get(digest) == b"sealed"
    with there.opened(digest) as opened, here.scratch() as path:
        path.write_bytes(opened.read())
        assert here.put_file(path) == digest
    assert copies(tmp_path / "here") | copies(tmp_path / "there") == set()
    here.delete(digest)
    with pytest.raises(FileFormatError, match="not in the store"):
        there.get(digest)


def test_a_remote_store_lies_as_a_local_one_does(url: str, tmp_path: Path) -> None:
    """So that a service moves there by a copy of its files."""
    local = Store(tmp_path / "local")
    digest = adopt(local, b"key")
    Remote(url)._objects.put(str(tmp_path / "local"), url, recursive=True)
    assert Store(tmp_path / "cache", url).path(digest).read_bytes() == b"key"


def test_a_copy_is_checked_when_it_is_made(url: str, tmp_path: Path) -> None:
    digest = adopt(Store(tmp_path / "here", url), b"key")
    Remote(url).write(digest, b"not the key")
    there = Store(tmp_path / "there", url)
    for ask in (there.path, there.get, lambda digest: there.opened(digest).__enter__()):
        with pytest.raises(FileFormatError, match="changed in the store"):
            ask(digest)
    with pytest.raises(FileFormatError, match="not in the store"):
        there.path("0" * 64)
    assert copies(tmp_path / "there") == set()
    assert {path.suffix for path in (tmp_path / "there" / "incoming").iterdir()} == {".lock"}


def test_several_at_once_download_an_artifact_once(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest, original, downloads = adopt(Store(tmp_path / "here", url), b"key"), Remote.download, []

    def slow(self: Remote, digest: str, path: Path) -> None:
        downloads.append(digest)
        time.sleep(0.2)  # as a large key takes
        original(self, digest, path)

    monkeypatch.setattr(Remote, "download", slow)
    # The lock is the open file's: threads with a store each meet it as processes do.
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: Store(tmp_path / "there", url).path(digest), range(4)))
    assert [path.read_bytes() for path in paths] == [b"key"] * 4
    assert downloads == [digest]


def test_what_was_used_longest_ago_makes_room(url: str, tmp_path: Path) -> None:
    store = Store(tmp_path / "here", url, cache_bytes=250)
    old, used, new = (adopt(store, bytes([number]) * 100) for number in range(3))
    assert copies(tmp_path / "here") == {old, used, new}, "young copies stay: somebody may be opening them"
    for age, digest in ((300, used), (200, old), (100, new)):
        os.utime(store.path(digest), (time.time() - age,) * 2)
    mapped = np.memmap(store._place(old), mode="r")
    store.path(used)
    latest = adopt(store, bytes([3]) * 100)
    assert copies(tmp_path / "here") == {used, latest}
    assert bytes(mapped) == bytes([0]) * 100, "what is mapped stays readable"
    assert store.path(old).read_bytes() == bytes([0]) * 100, "and is brought again"


def test_a_full_disk_leaves_nothing_behind_and_loses_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = adopt(store, b"kept")
    store.path(kept).unlink() if store._remote else None
    full = OSError(remote.NO_ROOM[0], "No space left on device")

    def fail(*_: object, **__: object) -> None:
        raise full

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(
            ResourceError, match=r"no room is left in .+, or give ZENSERVE_DATA_DIR a larger disk"
        ) as error:
            adopt(store, b"new")
        assert error.value.code == "resource.storage"
        if store._remote is not None:
            with pytest.raises(ResourceError, match="no room is left"):
                store.path(kept)
    assert [path for path in (tmp_path / "store" / "incoming").iterdir() if path.suffix != ".lock"] == []
    assert store.path(kept).read_bytes() == b"kept"
    assert adopt(store, b"new")


def test_a_remote_store_that_fails_says_so(tmp_path: Path, s3: str) -> None:
    store = Store(tmp_path, f"{s3}-of-nobody/artifacts")
    for write in (Store.put, adopt):
        with refuses("resource.storage", match="zenserve doctor"):
            write(store, b"x")
    assert copies(tmp_path) == set()


def test_orphans_are_swept_once_they_are_old(store: Store, tmp_path: Path) -> None:
    kept, orphan = adopt(store, b"kept"), store.put(b"orphan")
    assert store.delete_others({kept}, age_seconds=60.0) == 0
    assert store.get(orphan)
    assert store.delete_others({kept}, age_seconds=-60.0) == 1
    with pytest.raises(FileFormatError, match="not in the store"):
        store.get(orphan)
    assert store.get(kept) == b"kept"


def test_what_a_dead_process_left_unfinished_goes(tmp_path: Path) -> None:
    store = Store(tmp_path)
    unfinished = tmp_path / "incoming" / "unfinished"
    unfinished.touch()
    store.put(b"x")
    assert unfinished.exists()
    os.utime(unfinished, (0, 0))
    store.put(b"y")
    assert not unfinished.exists()


def test_credentials_may_be_a_file(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Kubernetes (deploy/kubernetes/settings.yaml)."""
    file = tmp_path / "aws_credentials"
    file.write_text("[default]\naws_access_key_id = of_the_file\naws_secret_access_key = secret\n")
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(variable)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    objects = Remote(url)
    objects.write("ab" * 32, b"artifact")
    assert objects._objects.session._credentials.access_key == "of_the_file"

"""Openings of commitments that hold for a few proofs: counted before they are made, whatever happens."""

from __future__ import annotations

import json
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from tests.patience import until
from tests.refusals import refuses
from tests.servers import fresh_database
from tests.service.conftest import on_postgresql, open_runtime
from tests.service.support import add_job, heart
from zenserve.base.memory import About, Kept
from zenserve.kernels import FrArray
from zenserve.service import deleted, doctor, openings, serve
from zenserve.service.deleted import forget_deleted
from zenserve.service.openings import Openings
from zenserve.service.runtime import Runtime
from zenserve.service.scheduler import reaper
from zenserve.service.storage import witness
from zenserve.service.storage.database import clock
from zenserve.service.storage.records.accounts import AuditEntry
from zenserve.service.storage.records.openings import Ledger, Root
from zenserve.service.storage.repositories import Models, stored
from zenserve.service.storage.repositories.openings import Roots, forget

VALUES = np.zeros((1, 4), np.uint64)
OPENINGS, RENEWALS = 10, 4


@dataclass(frozen=True)
class Toy:
    """An opening by its chain of roots."""

    roots: tuple[bytes, ...]

    @property
    def commitment(self) -> bytes:
        return self.roots[0]

    @property
    def root(self) -> bytes:
        return self.roots[-1]

    @property
    def blinding_bytes(self) -> bytes:
        return b"".join(self.roots[1:])

    def to_bytes(self) -> bytes:
        return b"".join(self.roots)


class ToyKey:
    """Its commitments can be opened as often, and renewed as often in a row, as Spartan's smallest."""

    identity, length, openings, columns, renewals = b"toy", 1, OPENINGS, 198, RENEWALS

    def __init__(self) -> None:
        self.made = 0
        self.opened = Counter[bytes]()
        self.fails = False

    def commit(self, values: FrArray, *, hiding: bool = True, threads: int = 1) -> Toy:
        raise NotImplementedError

    def reveal(self, opening: Any, values: FrArray, *, threads: int = 1) -> Any:
        raise NotImplementedError

    def renew(self, opening: Toy, values: FrArray, *, threads: int = 1) -> Toy:
        self.opened[opening.root] += 1
        if self.fails:
            raise MemoryError
        assert len(opening.roots) <= RENEWALS
        self.made += 1
        fresh = self.made.to_bytes(32, "big")
        self.opened[fresh] += 1
        return Toy((*opening.roots, fresh))


class Reading:
    def read_opening(self, data: bytes) -> Toy:
        return Toy(tuple(data[start : start + 32] for start in range(0, len(data), 32)))


FIRST = Toy((b"r" * 32,))
HELD = {"model": FIRST}
KNOWN = {"model": VALUES, "input": VALUES}


@pytest.fixture
def key() -> ToyKey:
    return ToyKey()


def counting(runtime: Runtime, key: ToyKey) -> Openings:
    reading: Any = Reading()
    return Openings(runtime, reading, key)


@pytest.fixture
def counted(each_runtime: Runtime, key: ToyKey) -> Openings:
    committed(each_runtime, key)
    return counting(each_runtime, key)


def committed(runtime: Runtime, key: ToyKey) -> None:
    with runtime.database.write() as session:
        openings.add(runtime, session, key, FIRST.commitment, "mdl_1")


def spend(counted: Openings) -> Toy:
    taken = counted.spend(HELD, KNOWN)["model"]
    key, opened = counted.key, Reading().read_opening(taken.to_bytes())
    assert isinstance(key, ToyKey)
    key.opened[opened.root] += 1
    return opened


def test_no_root_is_opened_more_often_than_hides_it(counted: Openings, key: ToyKey) -> None:
    chains = Counter(len(spend(counted).roots) - 1 for _ in range(150))
    assert max(key.opened.values()) == OPENINGS
    assert (chains[0], chains[1], chains[2]) == (OPENINGS - RENEWALS - 1, 9, 81)
    assert chains[3] == 150 - 5 - 9 - 81


def test_what_is_deleted_is_kept_no_more(each_runtime: Runtime, key: ToyKey) -> None:
    """Nor is what nobody knows, and what there is stays."""
    committed(each_runtime, key)
    kept, erased = Kept(1 << 20, lambda: 1 << 20), list[bytes]()
    for root in (FIRST.commitment, b"s" * 32):
        kept.keep(About(root), np.zeros(8), partial(erased.append, root))
    kept.keep("about no commitment", np.zeros(8))
    forget_deleted(each_runtime)
    assert (kept.commitments(), erased) == ({FIRST.commitment}, [b"s" * 32])
    with each_runtime.database.write() as session:
        forget(session, ["mdl_1"])
    forget_deleted(each_runtime)
    assert (kept.taken, erased) == (64, [b"s" * 32, FIRST.commitment])


def test_networks_and_circuits_of_deleted_models_are_forgotten(
    each_runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, where one was opened here that there is no more."""
    known, forgotten = {"mdl_1", "mdl_2"}, list[bool]()
    monkeypatch.setattr(deleted, "_opened", set())
    monkeypatch.setattr(deleted, "_remembering", [lambda: forgotten.append(True)])
    monkeypatch.setattr(Models, "known", lambda _, models: known & models)
    deleted.opened("mdl_1")
    deleted.forget_deleted(each_runtime)
    known.remove("mdl_2")
    deleted.forget_deleted(each_runtime)
    assert not forgotten
    known.clear()
    for _ in range(2):
        deleted.forget_deleted(each_runtime)
    assert forgotten == [True]


def test_a_commitment_ends(counted: Openings, key: ToyKey) -> None:
    """With four openings in a root, and chains of one link: nothing is opened once more."""
    key.openings, key.renewals = 4, 1
    with counted.runtime.database.write() as session:
        openings.add(counted.runtime, session, key, b"s" * 32, "mdl_2", spent=1)
    held, used = {"model": Toy((b"s" * 32,))}, Counter[bytes]()
    for before in range(7, -1, -1):
        with counted.runtime.database.read() as session:
            serving = Roots(session, ledger_epoch(session)).serving((b"s" * 32).hex())
            assert sum(openings.proofs_of(root, key) for root in serving) == before
        if not before:
            break
        used[Reading().read_opening(counted.spend(held, KNOWN)["model"].to_bytes()).root] += 1
    with refuses("conflict.openings"):
        while True:
            used[Reading().read_opening(counted.spend(held, KNOWN)["model"].to_bytes()).root] += 1
    assert sorted(used.values()) == [1, 3, 3]  # two renewals, one of them the spare


def ledger_epoch(session: Session) -> str:
    return session.get_one(Ledger, 1).epoch


def test_what_is_left_is_what_can_be_spent(counted: Openings, key: ToyKey) -> None:
    """Ten openings in a root and chains of four: as docs/spartan.md says, and the spare one."""
    with counted.runtime.database.read() as session:
        (root,) = Roots(session, ledger_epoch(session)).serving(FIRST.commitment.hex())
    assert openings.proofs_of(root, key) == 7385 + 9**4


def test_one_that_comes_to_nothing_is_spent(counted: Openings, key: ToyKey) -> None:
    """Whoever dies between counting and proving leaves one opening less; so does a renewal."""
    for _ in range(OPENINGS - RENEWALS - 1):
        counted.spend(HELD, KNOWN)
    key.fails = True
    with pytest.raises(MemoryError):
        spend(counted)
    key.fails = False
    assert len(spend(counted).roots) == 2  # by the spare one
    assert key.opened[FIRST.commitment] == 2
    with counted.runtime.database.read() as session:
        first = Roots(session, "").get(FIRST.commitment.hex())
        assert first
        assert (first.proofs, first.renewals, first.height) == (0, RENEWALS - 1, 1)


def test_several_are_spent_together_or_none(counted: Openings, key: ToyKey) -> None:
    other = Toy((b"o" * 32,))
    with counted.runtime.database.write() as session:
        openings.add(counted.runtime, session, key, other.commitment, "cmt_1", spent=5)
    taken = counted.spend(HELD | {"input": other}, KNOWN)
    assert [len(Reading().read_opening(each.to_bytes()).roots) for each in taken.values()] == [1, 2]
    with counted.runtime.database.read() as session:
        first = Roots(session, "").get(FIRST.commitment.hex())
        assert first
        assert first.proofs == OPENINGS - RENEWALS - 2


def test_a_commitment_of_two_names_is_opened_once(counted: Openings) -> None:
    """The proof shows the same columns of both; and where one opening is left, that is enough."""
    names = {"model": FIRST, "reference": FIRST}
    values = dict.fromkeys(names, VALUES)
    for left in reversed(range(OPENINGS - RENEWALS - 1)):
        taken = counted.spend(names, values)
        assert taken["model"] == taken["reference"]
        with counted.runtime.database.read() as session:
            first = Roots(session, "").get(FIRST.commitment.hex())
            assert first
            assert first.proofs == left
            assert session.get_one(Ledger, 1).spent == OPENINGS - RENEWALS - 1 - left
    taken = counted.spend(names, values)  # renewed once for both
    assert taken["model"] == taken["reference"] != FIRST


def test_a_count_is_of_openings_that_show_as_many_columns(counted: Openings, key: ToyKey) -> None:
    """By a version that shows more, what is left of a root would tell its values."""
    spend(counted)
    key.columns += 1
    with refuses("conflict.retired", match="whose proofs show 198 columns, and this one's show 199"):
        spend(counted)
    counted.renew_ahead({}, KNOWN)
    with refuses("conflict.retired"):
        counted.renew_ahead(HELD, KNOWN)
    assert key.made == 0
    key.columns -= 1
    spend(counted)


def test_workers_at_once_share_the_count(counted: Openings, key: ToyKey) -> None:
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda _: spend(counted), range(80)))
    assert len(taken) == 80
    assert max(key.opened.values()) <= OPENINGS


def test_renewals_come_before_they_are_needed(counted: Openings, key: ToyKey) -> None:
    for _ in range(20):
        spend(counted)
        before = key.made
        counted.renew_ahead(HELD, KNOWN)
        assert key.made - before in {0, 1, 2}
        made = key.made
        with counted.runtime.database.read() as session:
            assert session.query(Root).filter(Root.renewing_until.is_not(None)).count() == 0
    assert key.made == made
    made = key.made
    spend(counted)
    assert key.made == made
    assert max(key.opened.values()) <= OPENINGS


def test_only_one_renews_ahead(counted: Openings, key: ToyKey) -> None:
    for _ in range(4):
        spend(counted)
    with counted.runtime.database.write() as session:
        roots = Roots(session, counted._ledger(session).epoch)
        moment = clock(session)
        assert roots.claim_renewal(FIRST.commitment.hex(), moment + openings._RENEWAL)
    counted.renew_ahead(HELD, KNOWN)
    assert key.made == 0


def test_what_was_deleted_is_not_opened(counted: Openings) -> None:
    while not stored_openings(counted.runtime):
        spend(counted)
    with counted.runtime.database.write() as session:
        forget(session, ["mdl_1"])
    assert not stored_openings(counted.runtime)
    with refuses("conflict.changed"):
        spend(counted)


def stored_openings(runtime: Runtime) -> set[str]:
    with runtime.database.read() as session:
        return stored(session)


def test_a_restored_database_opens_nothing(counted: Openings, key: ToyKey) -> None:
    """What it says of the count is of earlier: on this host, that is noted beside it."""
    runtime = counted.runtime
    spend(counted)
    with runtime.database.write() as session:  # as a backup of before says
        session.execute(update(Ledger).values(spent=0))
        session.execute(update(Root).values(proofs=5))
    with refuses("conflict.restored"):
        spend(counted)
    with refuses("conflict.restored"):
        counted.renew_ahead(HELD, KNOWN)
    with refuses("conflict.restored"):
        openings.keep(runtime)
    with refuses("conflict.restored"):
        committed(runtime, key)
    openings.retire(runtime)
    with refuses("conflict.retired"):
        spend(counted)
    with runtime.database.read() as session, refuses("conflict.retired"):
        openings.check(session, [FIRST.commitment.hex()])
    assert openings.counts(runtime).retired == 1
    other = Toy((b"o" * 32,))
    with runtime.database.write() as session:
        openings.add(runtime, session, key, other.commitment, "mdl_2")
    counted.spend({"model": other}, KNOWN)


def test_a_copy_of_the_data_directory_opens_nothing(tmp_path: Path, key: ToyKey) -> None:
    runtime = open_runtime(tmp_path / "data")
    committed(runtime, key)
    spend(counting(runtime, key))
    runtime.close()
    shutil.copytree(tmp_path / "data", tmp_path / "backup")
    (tmp_path / "data").rename(tmp_path / "moved")  # on the same file system it is the same one
    runtime = open_runtime(tmp_path / "moved")
    spend(counting(runtime, key))
    runtime.close()
    shutil.rmtree(tmp_path / "moved")
    shutil.copytree(tmp_path / "backup", tmp_path / "moved")
    runtime = open_runtime(tmp_path / "moved")
    with refuses("conflict.restored"):
        spend(counting(runtime, key))
    openings.keep(runtime)  # the operator's word for it
    spend(counting(runtime, key))
    shutil.rmtree(tmp_path / "moved" / "openings")
    with refuses("conflict.restored"):
        spend(counting(runtime, key))
    runtime.close()


def mirror(backup: Path, data: Path) -> None:
    """As ``rsync --archive --delete`` does: files of the same size and time stay as they are."""
    for file in [*data.rglob("*")]:
        if file.is_file() and not (backup / file.relative_to(data)).exists():
            file.unlink()
    for file in backup.rglob("*"):
        there = data / file.relative_to(backup)
        same = there.exists() and there.stat().st_mtime_ns == file.stat().st_mtime_ns
        if file.is_file() and not (same and there.stat().st_size == file.stat().st_size):
            there.parent.mkdir(parents=True, exist_ok=True)
            Path(shutil.copy2(file, there.with_name("new"))).replace(there)


def overwrite(backup: Path, data: Path) -> None:
    """As ``cp`` does: what is there is written over, and what is not in the backup stays."""
    for file in backup.rglob("*"):
        if file.is_file():
            (data / file.relative_to(backup)).write_bytes(file.read_bytes())


def overwrite_but_artifacts(backup: Path, data: Path) -> None:
    shutil.copytree(backup, data, dirs_exist_ok=True, ignore=shutil.ignore_patterns("artifacts"))


def stead(backup: Path, data: Path) -> None:
    shutil.rmtree(data)
    shutil.copytree(backup, data)


def database_alone(backup: Path, data: Path) -> None:
    shutil.copy2(backup / "zenserve.sqlite", data)


@pytest.mark.parametrize("restore", [overwrite, overwrite_but_artifacts, mirror, stead, database_alone])
@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_backup_that_is_brought_back_opens_nothing(
    tmp_path: Path, key: ToyKey, restore: Callable[[Path, Path], None], before: int
) -> None:
    """However it is: ``before`` openings were counted when it was made, and one after."""
    data, backup = tmp_path / "data", tmp_path / "backup"
    runtime = open_runtime(data)
    committed(runtime, key)
    for _ in range(before):
        spend(counting(runtime, key))
    runtime.close()
    shutil.copytree(data, backup)
    runtime = open_runtime(data)
    spend(counting(runtime, key))
    runtime.close()
    restore(backup, data)
    runtime = open_runtime(data)
    with refuses("conflict.restored"):
        openings.counts(runtime)
    with refuses("conflict.restored"):
        spend(counting(runtime, key))
    openings.retire(runtime)
    with refuses("conflict.retired"):
        spend(counting(runtime, key))
    runtime.close()


def test_what_an_earlier_version_noted_goes_on(runtime: Runtime, key: ToyKey) -> None:
    """One file whose number was written over."""
    committed(runtime, key)
    spend(counting(runtime, key))
    folder = runtime.settings.data_dir / "openings"
    with runtime.database.write() as session:
        ledger = session.get_one(Ledger, 1)
        earlier = folder / ledger.epoch
        earlier.write_text(f"{1:020d}")
        ledger.place = witness._place(earlier)
    for file in folder.glob("*.*"):
        file.unlink()
    assert openings.counts(runtime).commitments == 1
    spend(counting(runtime, key))
    earlier.write_text(f"{9:020d}")
    with refuses("conflict.restored"):
        spend(counting(runtime, key))


def test_a_process_that_dies_within_a_count_stops_nobody(counted: Openings, key: ToyKey) -> None:
    """Before the commit, or behind it and before the note."""
    runtime = counted.runtime
    spend(counted)

    def count(outcome: Callable[[Session], None]) -> None:
        with runtime.database.write() as session:
            counted._count(session, counted._ledger(session), 1)
            outcome(session)

    count(Session.rollback)
    spend(counted)
    count(Session.flush)
    spend(counted)
    assert openings.counts(runtime).commitments == 1


@pytest.fixture
def hosts(request: pytest.FixtureRequest, tmp_path: Path, s3: str) -> Iterator[list[Runtime]]:
    """Three with one database and one store."""
    url = fresh_database(request.getfixturevalue("empty_database"))
    store = f"{s3}/{secrets.token_hex(4)}/artifacts"
    given = {"database_url": url, "broker_url": "redis://127.0.0.1:1/0", "secret_key": "a test's"}
    runtimes = [open_runtime(tmp_path / name, store_url=store, **given) for name in "abc"]
    yield runtimes
    for runtime in runtimes:
        runtime.close()


def go_back(runtime: Runtime, openings_ago: int) -> None:
    """As a dump of before has it."""
    with runtime.database.write() as session:
        session.execute(update(Ledger).values(spent=Ledger.spent - openings_ago))
        session.execute(update(Root).values(proofs=Root.proofs + openings_ago))


@pytest.mark.program
def test_openings_that_another_host_spent_are_noticed(hosts: list[Runtime], key: ToyKey) -> None:
    """By the store, whoever asks first: this host saw none of them."""
    first, second, third = hosts
    committed(first, key)
    spend(counting(first, key))
    for _ in range(2):
        spend(counting(second, key))
    go_back(first, 2)
    for runtime in (first, third):
        with refuses("conflict.restored"):
            openings.counts(runtime)
    with refuses("conflict.restored"):
        spend(counting(first, key))
    assert max(key.opened.values()) <= OPENINGS
    with first.database.read() as session, refuses("conflict.restored"):
        openings.check(session, [FIRST.commitment.hex()])
    for runtime in hosts:
        with refuses("conflict.restored"):
            openings.keep(runtime)
        assert doctor_says(runtime) == "fail"


@pytest.mark.program
def test_a_host_that_noted_more_tells_all_others(hosts: list[Runtime], key: ToyKey) -> None:
    """Where the store was restored, too: those that only look note it, and so do idle workers."""
    first, second, third = hosts
    committed(first, key)
    add_job(first, "mdl_1")
    spend(counting(second, key))
    openings.note(third)
    spend(counting(second, key))
    openings.note(third)
    openings.note(third)
    assert openings.counts(first).commitments == 1
    go_back(first, 2)
    first.store._remote._objects.rm(f"{first.store._remote._root}/openings", recursive=True)  # type: ignore[union-attr]
    assert doctor_says(first) == "ok", "which has nothing to tell by"
    openings.note(third)
    for runtime in hosts:
        assert doctor_says(runtime) == "fail"
        with refuses("conflict.restored"):
            spend(counting(runtime, key))
    assert told(first) == [("openings.restored", "mdl_1")]
    openings.note(third)
    assert len(told(first)) == 1, "once"
    openings.retire(first)
    assert told(first)[-1] == ("openings.retired", "mdl_1")
    assert {doctor_says(runtime) for runtime in hosts} == {"ok"}


@pytest.mark.program
def test_idle_workers_and_the_scheduler_note_what_others_opened(hosts: list[Runtime], key: ToyKey) -> None:
    first, second, third = hosts
    committed(first, key)
    spend(counting(first, key))
    with heart(second) as heartbeat:
        heartbeat.tick()
    assert reaper._DUTIES[openings.note] == openings.NOTE_SECONDS
    notes = serve.Notes(third)
    notes.start()
    with first.database.read() as session:
        ledger = session.get_one(Ledger, 1)
    for runtime in (second, third):
        until(partial(has_noted, runtime, ledger))
    notes.finish()


def has_noted(runtime: Runtime, ledger: Ledger) -> bool:
    return openings._witness(runtime, ledger).highest() == ledger.spent


def doctor_says(runtime: Runtime) -> str:
    return doctor._checked("openings", doctor._openings, runtime).verdict


def told(runtime: Runtime) -> list[tuple[str, str | None]]:
    """What tenants find in their audit log."""
    with runtime.database.read() as session:
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
    return [(entry.action, entry.target) for entry in entries if entry.tenant_id == "tnt_local"]


def test_claims_stay_when_the_store_is_swept(runtime: Runtime) -> None:
    assert runtime.store.claim("r" * 64, 3)
    assert not runtime.store.claim("r" * 64, 3)
    assert runtime.store.claim("r" * 64, 2)
    runtime.store.delete_others(set(), 0.0)
    assert runtime.store.lowest_claims() == {"r" * 64: 2}


@pytest.mark.program
def test_a_host_that_comes_new_is_no_copy(
    request: pytest.FixtureRequest, tmp_path: Path, key: ToyKey
) -> None:
    url = fresh_database(request.getfixturevalue("empty_database"))
    first, second = (on_postgresql(tmp_path / name, url) for name in ("a", "b"))
    committed(first, key)
    for runtime in (first, second, first):
        spend(counting(runtime, key))
    assert openings.counts(second) == openings.counts(first)
    for runtime in (first, second):
        runtime.close()


def test_spartan_counts_and_groth16_does_not(runtime: Runtime) -> None:
    with runtime.database.write() as session:
        key: Any = object()
        openings.add(runtime, session, key, b"", "mdl_1")
        assert session.query(Ledger).count() == 0


def test_the_count_is_on_the_disk_before_it_is_believed(counted: Openings, tmp_path: Path) -> None:
    spend(counted)
    with counted.runtime.database.read() as session:
        ledger = session.get_one(Ledger, 1)
    (file,) = (counted.runtime.settings.data_dir / "openings").iterdir()
    assert (file.name, ledger.spent) == (f"{ledger.epoch}.{1:020d}", 1)
    assert file.stat().st_mode & 0o77 == 0
    assert counted.runtime.store.lowest_claims() == {FIRST.commitment.hex(): OPENINGS - 1}


def test_operators_are_told_and_decide(
    tmp_path: Path, key: ToyKey, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = open_runtime(tmp_path / "data")
    committed(runtime, key)
    spend(counting(runtime, key))
    runtime.close()
    monkeypatch.setenv("ZENSERVE_DATA_DIR", str(tmp_path / "data"))
    assert json.loads(run("openings", "show", "--json")[1]) == {"commitments": 1, "renewed": 0, "retired": 0}
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    monkeypatch.setenv("ZENSERVE_DATA_DIR", str(tmp_path / "copy"))
    code, _, said = run("openings", "show")
    assert code == 2
    assert "zenserve openings retire" in " ".join(said.split())
    assert json.loads(run("openings", "keep", "--json")[1])["commitments"] == 1
    assert json.loads(run("openings", "retire", "--json")[1])["retired"] == 1
    assert run("openings", "show")[0] == 0

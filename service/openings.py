"""Openings of commitments, where a proof system's commitments tell their values once too many proofs showed
columns of them (docs/spartan.md, "Renewals").

An opening is spent in a transaction that is on the disk before the proof begins: whatever becomes of that, it
is not spent again. A commitment's root serves ``B`` openings. The registered one, R, gives its own to proofs,
but for those that renew it: its children have heights 0, 1, … each the root of a tree of renewals as high, of
which only leaves are opened in proofs. So the first proofs have no chain of renewals, and those behind them
one of one link, then two, up to as many as a chain may have. One opening of R is spare, for a renewal that
comes to nothing.

What a database says is true only while it is the newest. So the count is kept where a restore of the
database does not reach:

- The store has a file for each opening of a root, named by how many are left behind it (``Store.claim``).
  What is there already was opened before.
- Each host notes how many openings the database knew of (``zenserve.service.storage.witness``): workers when
they
  spend one and while they are idle, the API and the scheduler all the time (``note``). A database that knows
  of fewer was restored. The host tells it so (``Ledger.seen``), and thereby all other hosts.
- Where the database lies in the data directory, it knows the file of the last note. In a copy of the
  directory, also one over it, that is another file.

Each stops all openings, until an operator retires the roots that there are, or says that the directory was
only moved. Whoever committed to something finds that in the audit log.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy.orm import Session

from zenserve.base.progress import Progress, silent
from zenserve.errors import ConflictError
from zenserve.kernels import FrArray
from zenserve.prover import registry
from zenserve.prover.system import CommitmentKey, Committing, Opening, Renewable
from zenserve.service import encryption, log
from zenserve.service.basis import load_bases
from zenserve.service.runtime import Runtime
from zenserve.service.storage.database import clock, is_postgresql
from zenserve.service.storage.records.accounts import AuditEntry
from zenserve.service.storage.records.openings import Ledger, Root
from zenserve.service.storage.records.resources import Model
from zenserve.service.storage.repositories.accounts import AuditLog
from zenserve.service.storage.repositories.openings import Counts, Ledgers, Roots, new_epoch
from zenserve.service.storage.witness import Witness
from zenserve.verifier.registry import SYSTEMS

Values = Mapping[str, FrArray]
"""The committed values, by their name in the circuit: uint64[n, 4], Montgomery."""

NOTE_SECONDS: Final = 2.0
"""Between two notes of how many openings there were, on a host of the API or the scheduler."""
_SPARE: Final = 1
_AHEAD: Final = 3
"""With fewer proofs left, another root is made while nobody waits."""
_RENEWAL: Final = timedelta(minutes=1)
"""After which another may try what a worker began and did not end."""
_PAUSE_SECONDS: Final = 0.1
_FEWER: Final = (
    "the database knows of fewer openings of commitments than there were: it was restored from a backup"
)
_UNKNOWN: Final = "after a backup was restored nobody knows how often it was opened"


def add(
    runtime: Runtime,
    session: Session,
    key: CommitmentKey | None,
    commitment: bytes,
    owner: str,
    *,
    spent: int = 0,
) -> None:
    """Count the openings of a fresh commitment from now on, in the transaction that makes it known: ``spent``
    are those that nobody has seen yet. Nothing where any number does no harm. Raises
    ``ConflictError`` (``conflict.restored``).
    """
    if not isinstance(key, Renewable):
        return
    ledger = _ledger(runtime, session)
    renewals = key.renewals + _SPARE
    Roots(session, ledger.epoch).add(
        Root(
            root=commitment.hex(),
            registered=commitment.hex(),
            owner=owner,
            depth=0,
            proofs=key.openings - renewals - spent,
            renewals=renewals,
            height=0,
            columns=key.columns,
        )
    )


def check(session: Session, commitments: Collection[str]) -> None:
    """Raises ``ConflictError`` (``conflict.retired``, ``conflict.restored``) where one of these, in hex, is
    not to be opened."""
    found = Ledgers(session).known(commitments)
    if any(each.seen > each.spent for each in found):
        raise _restored(_FEWER)
    for each in found:
        if each.root_epoch != each.epoch:
            raise _retired(each.root, _UNKNOWN)


@dataclass(frozen=True)
class Openings:
    """Of commitments under this key, by jobs."""

    runtime: Runtime
    committing: Committing
    key: Renewable

    def spend(
        self, held: Mapping[str, Opening], values: Values, progress: Progress = silent
    ) -> dict[str, Opening]:
        """For each of these commitments, by its name in the circuit, what a proof is to open now, and no
        other ever will: renewed first where nothing is left. Stage then: "renew". Raises ``ConflictError``:
        ``conflict.openings`` where it was opened as often as can be, ``conflict.retired``,
        ``conflict.restored``; what ``progress`` does.
        """
        taken = self._taken(held)
        while empty := [name for name in held if name not in taken]:
            for name in empty:
                progress("renew", 0.0)
                if self._claimed(held[name], 1):
                    self._renew(held[name], values[name], 1)
                else:  # another worker is at it, or was
                    time.sleep(_PAUSE_SECONDS)
            taken = self._taken(held)
        return {name: self._opening(held[name], root) for name, root in taken.items()}

    def renew_ahead(self, held: Mapping[str, Opening], values: Values) -> None:
        """Renew those of which few openings are left, so that no proof has to wait for it."""
        for name, opening in held.items():
            if self._claimed(opening, _AHEAD):
                self._renew(opening, values[name], _AHEAD)

    def _claimed(self, held: Opening, least: int) -> bool:
        """Claim the renewal if fewer than ``least`` proofs are left.

        Return False if enough are left, or if the renewal is claimed already.
        """
        with self.runtime.database.write() as session:
            roots, until = self._roots(session), clock(session) + _RENEWAL
            registered = self._registered(roots, held)
            return roots.left(registered) < least and roots.claim_renewal(registered, until)

    def _renew(self, held: Opening, values: FrArray, least: int) -> None:
        """Make others until there are openings for as many proofs, by whoever has claimed to."""
        try:
            while (parent := self._parent(held, least)) is not None:
                self._make_child(held, parent, values)
        finally:
            with self.runtime.database.write() as session:
                Roots(session, "").hold_renewal(held.commitment.hex(), None)

    def _parent(self, held: Opening, least: int) -> Root | None:
        """Return the root that another is to replace, and count the opening that this takes.

        None where enough are left. Raises ``ConflictError`` (``conflict.openings``) where none is left.
        """
        with self.runtime.database.write(lasting=True) as session:
            ledger, roots = self._ledger(session), self._roots(session)
            registered = self._registered(roots, held)
            if roots.left(registered) >= least:
                return None
            parent = roots.next_to_renew(registered)
            if parent is None:
                if roots.left(registered):
                    return None
                raise ConflictError(
                    "conflict.openings",
                    f"the commitment {registered} was opened as often as can be: register the model, commit"
                    " to the input or add the dataset anew",
                )
            if parent.depth == 0:
                # Where a renewal came to nothing, the lowest tree is left out: the highest serves the most.
                parent.height = max(parent.height, self.key.renewals - parent.renewals)
            parent.renewals -= 1
            self._count(session, ledger, 1)
            roots.hold_renewal(registered, clock(session) + _RENEWAL)
        self._note(ledger, [parent])
        return parent

    def _make_child(self, held: Opening, parent: Root, values: FrArray) -> None:
        made = self.key.renew(self._opening(held, parent), values, threads=self.runtime.settings.threads)
        root, height = made.root.hex(), parent.height
        stored = encryption.put(self.runtime, f"root:{root}", made.to_bytes())
        with self.runtime.database.write() as session:
            roots = Roots(session, parent.epoch)
            if roots.get(parent.registered) is None:
                return  # deleted meanwhile, and what was stored is swept
            if parent.depth == 0:
                roots.raise_height(parent.root, min(height + 1, self.key.renewals - 1))
            roots.add(
                Root(
                    root=root,
                    registered=parent.registered,
                    owner=parent.owner,
                    depth=parent.depth + 1,
                    proofs=0 if height else self.key.openings - 1,
                    renewals=self.key.openings - 1 if height else 0,
                    height=max(0, height - 1),
                    columns=parent.columns,
                    opening=stored,
                )
            )
        log.event("commitment.renewed", owner=parent.owner, depth=parent.depth + 1, height=height)

    def _taken(self, held: Mapping[str, Opening]) -> dict[str, Root]:
        """For each the root that is to be opened, all counted; or else, and nothing counted, those that
        there are. A commitment of several names is opened once: a proof shows the same columns of all."""
        with self.runtime.database.write(lasting=True) as session:
            ledger, roots = self._ledger(session), self._roots(session)
            registered = {name: self._registered(roots, opening) for name, opening in held.items()}
            found = {each: roots.next_for_proof(each) for each in set(registered.values())}
            taken = {name: root for name, each in registered.items() if (root := found[each])}
            if len(taken) < len(held):
                return taken
            for root in filter(None, found.values()):
                root.proofs -= 1
            self._count(session, ledger, len(found))
        self._note(ledger, list({root.root: root for root in taken.values()}.values()))
        return taken

    def _registered(self, roots: Roots, held: Opening) -> str:
        """The commitment in hex, if it may be opened. Raises ``ConflictError``."""
        commitment = held.commitment.hex()
        root = roots.get(commitment)
        if root is None:
            raise ConflictError(
                "conflict.changed", f"the commitment {commitment} was deleted in the meantime"
            )
        if root.epoch != roots.epoch:
            raise _retired(commitment, _UNKNOWN)
        if root.columns != self.key.columns:
            raise _retired(
                commitment,
                f"its openings were counted by a version whose proofs show {root.columns or 'other'} columns,"
                f" and this one's show {self.key.columns}",
            )
        return commitment

    def _opening(self, held: Opening, root: Root) -> Opening:
        if root.opening is None:
            return held
        return self.committing.read_opening(encryption.get(self.runtime, f"root:{root.root}", root.opening))

    def _count(self, session: Session, ledger: Ledger, openings: int) -> None:
        ledger.spent += openings
        if not is_postgresql(session):
            ledger.place = _witness(self.runtime, ledger).prepare(ledger.spent)

    def _note(self, ledger: Ledger, roots: Sequence[Root]) -> None:
        """Keep what was counted beside the database, too, before anything is opened. Raises
        ``ConflictError`` (``conflict.restored``) where that was done before."""
        _witness(self.runtime, ledger).note(ledger.spent)
        for root in roots:
            if not self.runtime.store.claim(root.root, root.proofs + root.renewals):
                _report(self.runtime, ledger.spent + 1)
                raise _restored(_FEWER)

    def _ledger(self, session: Session) -> Ledger:
        return _ledger(self.runtime, session)

    def _roots(self, session: Session) -> Roots:
        return Roots(session, self._ledger(session).epoch)


@dataclass(frozen=True)
class Left:
    """The number of proofs that can still open a commitment.

    ``now``: before another root takes its place. ``total``: if no renewal fails.
    """

    now: int
    total: int


def left(runtime: Runtime, session: Session, model: Model) -> Left | None:
    """Return what is left of a model's commitment; None where any number of proofs does no harm."""
    ledger = Ledgers(session).peek()
    if ledger is None or model.commitment is None or model.verification_key is None:
        return None
    if Roots(session, ledger.epoch).get(model.commitment) is None:
        return None
    system = registry.find(model.system)
    wanted = SYSTEMS[model.system].read_key(model.verification_key.document).basis
    key = next((each for each in load_bases(runtime, system) if each.identity == wanted), None)
    serving = Roots(session, ledger.epoch).serving(model.commitment)
    if not isinstance(key, Renewable):
        return None
    return Left(sum(root.proofs for root in serving), sum(proofs_of(root, key) for root in serving))


def proofs_of(root: Root, key: Renewable) -> int:
    """Return how many proofs a root serves, with all that may take its place."""
    each: int = key.openings - 1
    top = key.renewals - 1
    lowest = root.height if root.depth else max(root.height, key.renewals - root.renewals)
    grows = 0 if root.depth else 1
    heights = (min(lowest + grows * place, top) for place in range(root.renewals))
    return root.proofs + sum(int(each ** (height + 1)) for height in heights)


def note(runtime: Runtime) -> None:
    """Keep on this host how many openings the database knows of. Where it knows of fewer than this host, have
    all hosts know that it was restored."""
    with runtime.database.read() as session:
        ledger = Ledgers(session).peek()
    if ledger is None:
        return
    witness = _witness(runtime, ledger)
    highest = witness.highest()
    if ledger.spent > highest:
        witness.note(ledger.spent)
    elif highest > max(ledger.spent, ledger.seen):
        _report(runtime, highest)


def retire(runtime: Runtime) -> None:
    """Have no commitment opened any more that there is: how often these were, nobody knows."""
    with runtime.database.write(lasting=True) as session:
        ledger = Ledgers(session).begin()
        _tell_owners(session, ledger, "openings.retired")
        ledger.epoch, ledger.spent, ledger.seen, ledger.place = new_epoch(), 0, 0, None
        _settle(runtime, session, ledger)
    log.event("openings.retired")


def keep(runtime: Runtime) -> None:
    """Go on with a data directory that was moved, and of which no copy goes on elsewhere. Raises
    ``ConflictError`` (``conflict.restored``) where it is known to be of earlier."""
    with runtime.database.write(lasting=True) as session:
        ledger = Ledgers(session).begin()
        _require_newest(runtime, ledger)
        _require_unclaimed(runtime, session, ledger)
        ledger.place = None
        _settle(runtime, session, ledger)
    log.event("openings.kept")


def counts(runtime: Runtime) -> Counts:
    """Of all commitments whose openings are counted. Raises ``ConflictError`` (``conflict.restored``)."""
    with runtime.database.write() as session:
        if Ledgers(session).peek() is None:
            return Counts(0, 0, 0)
        ledger = _ledger(runtime, session)
        _require_unclaimed(runtime, session, ledger)
        return Roots(session, ledger.epoch).counts()


def _ledger(runtime: Runtime, session: Session) -> Ledger:
    """The ledger, this transaction's alone. Raises ``ConflictError`` (``conflict.restored``)."""
    ledgers = Ledgers(session)
    ledger = ledgers.held()
    if ledger is None:
        ledger = ledgers.begin()
        _settle(runtime, session, ledger)
    _require_newest(runtime, ledger)
    if ledger.place is not None and not _witness(runtime, ledger).is_place(ledger.place, ledger.spent):
        raise _restored("the data directory is a copy of the one that the commitments in it were opened in")
    return ledger


def _settle(runtime: Runtime, session: Session, ledger: Ledger) -> None:
    """Note the openings ``spent`` on this host.

    A database in the data directory is first tied to the file of that note.
    """
    witness = _witness(runtime, ledger)
    if not is_postgresql(session) and ledger.place is None:
        ledger.place = witness.prepare(ledger.spent)
    witness.note(ledger.spent)


def _require_newest(runtime: Runtime, ledger: Ledger) -> None:
    highest = max(_witness(runtime, ledger).highest(), ledger.seen)
    if highest > ledger.spent:
        raise _restored(
            f"the database knows of {ledger.spent} openings of commitments, and a host of {highest}:"
            " it was restored from a backup"
        )


def _require_unclaimed(runtime: Runtime, session: Session, ledger: Ledger) -> None:
    """Raises ``ConflictError`` where the store knows of openings that the database has still to spend."""
    left = Roots(session, ledger.epoch).left_of_all()
    if any(lowest < left.get(root, 0) for root, lowest in runtime.store.lowest_claims().items()):
        raise _restored(_FEWER)


def _report(runtime: Runtime, openings: int) -> None:
    """Have all hosts know that there were so many openings, unless the database knows of them by now."""
    with runtime.database.write(lasting=True) as session:
        ledger = Ledgers(session).begin()
        if openings > max(ledger.spent, ledger.seen):
            if ledger.seen <= ledger.spent:
                _tell_owners(session, ledger, "openings.restored")
                log.event("openings.restored", level=40, known=ledger.spent, seen=openings)
            ledger.seen = openings


def _tell_owners(session: Session, ledger: Ledger, action: str) -> None:
    """Note in the audit log of each tenant what of its is not opened any more."""
    entries = AuditLog(session)
    for owner, tenant_id in Roots(session, ledger.epoch).owners():
        entries.add(
            AuditEntry(at=clock(session), tenant_id=tenant_id, actor="service", action=action, target=owner)
        )


def _witness(runtime: Runtime, ledger: Ledger) -> Witness:
    return Witness(runtime.settings.data_dir, ledger.epoch)


def _retired(commitment: str, why: str) -> ConflictError:
    return ConflictError(
        "conflict.retired",
        f"the commitment {commitment} was retired: {why}. Register the model, commit to the input or add the"
        " dataset anew",
    )


def _restored(found: str) -> ConflictError:
    return ConflictError(
        "conflict.restored",
        f"{found}. What was opened since is not known, and once too often tells the values: `zenserve"
        " openings retire` ends the use of all that was committed to, and `zenserve openings keep` goes on"
        " after a move (docs/operations.md)",
    )

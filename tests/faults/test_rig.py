from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.production import production
from tests.faults.rig import KILLS, Rig
from tests.programs import Find


@pytest.mark.large
def test_a_night_with_a_restore(program: Find, tmp_path: Path) -> None:
    """A short one; docs/service.md has a long one, test_workers and test_servers each fault by itself."""
    for module in ("moto.server", "s3fs"):
        pytest.importorskip(module)
    with production(tmp_path, program) as service:
        rig = Rig(service, jobs=24, seed=7, minutes=60, restores=1)
        rig.run()
    report = rig.report
    print("\n".join(report.lines()))
    assert report.violations == []
    assert report.kills.keys() > {"restored", "backed up"}
    assert report.kills.keys() <= {"restored", "backed up", *KILLS}
    assert report.documents > 0
    assert sum(report.kinds.values()) >= 24

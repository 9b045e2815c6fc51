"""The service under fire: everyone gets an answer or a clear error, nobody gets another's, and it goes on.

`tests/serving/fire.py` has the clients. The long form is the soak of `make torture`.
"""

import asyncio
import os
import re
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.serving.fire import CROWD, Fire, marked
from weft.tasks.translator import Translator

MINUTE = 60  # seconds
GROWTH = 0.05  # of resident memory, after the second minute


@contextmanager
def serving(log: Path, timeout: float) -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    """A service that can be shot, and its port."""
    words = ["serve", "en-de", "--port", "0", "--timeout", str(timeout), "--waiting", "100", "--engine", "torch"]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "tests.serving.shot", *words], stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            assert process.stdout
            told = process.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:(\d+)", told)
            assert found, told
            yield int(found[1]), process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def resident(process: "subprocess.Popen[str]") -> float:
    """MB."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.fixture(autouse=True)
def room_for_a_crowd() -> Iterator[None]:
    """A crowd is more connections than a process may have by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2 * CROWD)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    ("minutes", "timeout", "marks", "asking"),
    [(0.1, 3.0, 8, 20), pytest.param(10.0, 15.0, 100, CROWD, marks=pytest.mark.torture)],
)
def test_no_answer_is_lost_or_mixed(
    tmp_path: Path, shipped: Translator, minutes: float, timeout: float, marks: int, asking: int
) -> None:
    answers = {text: shipped.translate([text])[0] for text in marked(marks)}
    memory: list[float] = []

    async def run() -> Fire:
        fire = Fire(port, answers)
        burning = asyncio.ensure_future(fire.burn(minutes * MINUTE, asking))
        while not (await asyncio.wait({burning}, timeout=1.0))[0]:
            memory.append(resident(process))
            if len(memory) % 20 == 3:
                process.send_signal(signal.SIGUSR1)  # in the middle of a batch
        await burning
        for _ in range(3):  # after all of it; one may be hit by the last shot
            await fire.good()
        return fire

    with serving(tmp_path / "log", timeout) as (port, process):
        with pytest.raises(ConnectionRefusedError):  # it listens on 127.0.0.1 only
            socket.create_connection(("127.0.0.2", port), 1)
        fire = asyncio.run(run())
        assert process.poll() is None

    for (kind, status), count in sorted(fire.seen.items()):
        print(f"{kind:12} {status:10} {count:7,}")
    after_two, at_the_end = memory[min(len(memory), 2 * MINUTE) - 1], memory[-1]
    print(f"{fire.seen.total():,} sent in {minutes:g} minutes, {sum(fire.lost.values())} lost or mixed")
    print(f"resident memory: {after_two:.0f} MB after two minutes, {at_the_end:.0f} MB at the end")
    assert not fire.lost
    assert min(fire.seen["good", "200"], fire.seen["slow body", "408"]) > 0
    assert sum(count for (_, status), count in fire.seen.items() if status == "500") > 0, "nobody saw the thread die"
    assert at_the_end < (1 + GROWTH) * after_two or minutes < 2

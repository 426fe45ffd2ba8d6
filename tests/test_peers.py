"""Processes find each other at every start, and none waits for ever for one that is cut off."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from torch import distributed

from process_groups import Start, torchrun
from small_training import DATA, flags, same_weights, saved_state, trace_of
from targcn.errors import InputError
from targcn.peers import TIMEOUT, agree_on_a_name, seconds_of_silence
from targcn.runs.store import load_run

# --- starting -------------------------------------------------------------------------------


def start_once(store: distributed.Store, size: int) -> set[str]:
    """The names that processes agree on, the main one being the last to come."""
    names: list[str] = []
    threads = [
        threading.Thread(target=lambda rank=rank: names.append(agree_on_a_name(store, rank, size)))
        for rank in reversed(range(size))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(names) == size
    return set(names)


@pytest.mark.parametrize("size", [2, 3])
def test_every_start_has_a_name_of_its_own(size: int) -> None:
    """In one store, where what was said at the starts before still stands."""
    store = distributed.HashStore()
    starts = [start_once(store, size) for _ in range(5)]
    assert [len(names) for names in starts] == [1] * 5
    assert len(set.union(*starts)) == 5


def test_one_that_asked_and_died_is_not_waited_for() -> None:
    store = distributed.HashStore()
    store.set("asks 1", "one that was killed before its answer came")
    main = threading.Thread(target=agree_on_a_name, args=(store, 0, 2))
    main.start()
    store.wait(["answer one that was killed before its answer came"])
    assert main.is_alive()
    agree_on_a_name(store, 1, 2)
    main.join(timeout=60)
    assert not main.is_alive()


def test_the_time_to_wait_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TIMEOUT, raising=False)
    assert seconds_of_silence() == 60
    monkeypatch.setenv(TIMEOUT, "7.5")
    assert seconds_of_silence() == 7.5
    for wrong in ("1", "-3", "soon", "nan", "inf"):
        monkeypatch.setenv(TIMEOUT, wrong)
        with pytest.raises(InputError, match=f"{TIMEOUT} is '{wrong}'; a number of seconds"):
            seconds_of_silence()


# --- silence --------------------------------------------------------------------------------

SAVING_SLOWLY = """
import time
os.environ["TARGCN_PROCESS_TIMEOUT"] = "4"
if rank == 0:
    write = training.write_state

    def write_slowly(*what):
        time.sleep(7)
        write(*what)

    training.write_state = write_slowly
"""


@pytest.mark.slow
def test_one_that_works_while_the_others_wait_is_not_silent(start: Start, tmp_path: Path) -> None:
    DATA.save(tmp_path / "data")
    given = flags(out=tmp_path / "run", epochs=1)
    codes, printed, complaints = start(2, "train", tmp_path / "data", *given, before=SAVING_SLOWLY)
    assert (codes, complaints) == ([0, 0], ["", ""])
    assert "90 queries, valid split" in printed[0]


COMING_LATE = """
import time
distributed.SECONDS_TO_START = 2.0
if rank == 1:
    time.sleep(4)
"""


@pytest.mark.slow
def test_one_that_does_not_come_is_not_waited_for(start: Start, tmp_path: Path) -> None:
    """Nor does it wait for the others, who have left."""
    DATA.save(tmp_path / "data")
    given = flags(out=tmp_path / "run")
    codes, _, complaints = start(2, "train", tmp_path / "data", *given, before=COMING_LATE)
    assert codes == [1, 1]
    assert complaints[0].startswith("targcn: other processes have not all started within 2 s; ")


# As a machine that hangs, for so long that it would be waited for in vain.
HANGING = """
import time
os.environ["TARGCN_PROCESS_TIMEOUT"] = "2"
rate_of = training.learning_rate

def hang(settings, step, num_steps):
    if step == 12:
        if os.fork() == 0:
            time.sleep(6)
            os.kill(os.getppid(), signal.SIGCONT)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGSTOP)
    return rate_of(settings, step, num_steps)

if rank == 1:
    training.learning_rate = hang
"""


@pytest.mark.slow
def test_one_that_hangs_is_not_waited_for(start: Start, tmp_path: Path) -> None:
    DATA.save(tmp_path / "data")
    given = flags(out=tmp_path / "run")
    codes, printed, complaints = start(2, "train", tmp_path / "data", *given, before=HANGING)
    assert (codes, printed) == ([1, 1], ["", ""])
    assert complaints[0] == (
        f"targcn: other processes were silent for 2 s ({TIMEOUT}); a link or a machine may be "
        "down\n"
    )
    assert saved_state(tmp_path / "run")[1]["epoch"] == 1


# --- two hosts and a cable ------------------------------------------------------------------

# Saved after every second step; in its first life it waits in epoch 3 until the cable is pulled.
WORKER = """
import os, sys, time
from pathlib import Path
from targcn import cli
from targcn.training import loop as training

training.STEPS_BETWEEN_AGREEMENTS = 2
training.SECONDS_BETWEEN_SAVES = 0.0
place = Path(sys.argv.pop(1))
rank = os.environ["RANK"]
if rank == "1":
    # As if its launcher had found the other one waiting before it saw that its worker had ended:
    # it starts again without counting it.
    os.environ["TORCHELASTIC_RESTART_COUNT"] = "0"
rate_of = training.learning_rate
lives = place / f"lives of {rank}"
first = not lives.exists()

def noted(settings, step, num_steps):
    global taken
    if not taken:
        with lives.open("a") as file:
            file.write(f"{step}\\n")
        taken = True
    if first and step == 2 * 9 + 5:
        (place / f"{rank} is there").touch()
        deadline = time.monotonic() + 60
        while not (place / "cable is pulled").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
    return rate_of(settings, step, num_steps)

taken = False
training.learning_rate = noted
cli.program()
"""


@dataclass(frozen=True)
class Hosts:
    """Two hosts, each a network namespace, that hang on a switch by a cable each."""

    names: tuple[str, str]
    switch: str
    folder: Path
    launched: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def address(self, number: int) -> str:
        return f"10.77.0.{number + 1}"

    def cable(self, number: int, state: str) -> None:
        """Set the switch's end of a cable up or down: packets vanish, and nobody is told."""
        ip("-n", self.switch, "link", "set", f"port{number}", state)

    def torchrun(self, number: int, *arguments: object) -> subprocess.Popen[bytes]:
        """A launcher on a host, which writes what it says into files."""
        launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2"]
        launcher += ["--nproc-per-node=1", "--max-restarts=3", "--rdzv-backend=c10d"]
        launcher += [f"--rdzv-endpoint={self.address(0)}:29400", "--rdzv-id=cut"]
        # Both hosts have the name of this machine, so it has to be said who is who.
        launcher += [f"--local-addr={self.address(number)}"]
        launcher += [f"--rdzv-conf=is_host={int(number == 0)}"]
        command = ["ip", "netns", "exec", self.names[number], *launcher, *map(str, arguments)]
        environment = {"OMP_NUM_THREADS": "1", TIMEOUT: "5", "GLOO_SOCKET_IFNAME": "eth0"}
        with (self.folder / f"host {number}").open("wb") as said:
            one = subprocess.Popen(command, stdout=said, stderr=said, env=os.environ | environment)
        self.launched.append(one)
        return one

    def reap(self) -> None:
        for one in self.launched:
            one.wait(timeout=20)

    def said(self, number: int) -> str:
        return (self.folder / f"host {number}").read_text(errors="replace")


def ip(*arguments: str) -> str:
    command = ["ip", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def remove(namespace: str) -> None:
    """Remove a namespace and end what runs in it."""
    for number in ip("netns", "pids", namespace).split():
        with suppress(ProcessLookupError):
            os.kill(int(number), signal.SIGKILL)
    ip("netns", "delete", namespace)


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need root and ip (Debian's iproute2)")
    names = [f"targcn-{os.getpid()}-{name}" for name in ("a", "b", "switch")]
    made = Hosts((names[0], names[1]), names[2], tmp_path)
    with ExitStack() as held:
        held.callback(made.reap)
        try:
            for name in names:
                ip("netns", "add", name)
                held.callback(remove, name)
            ip("-n", made.switch, "link", "add", "bridge0", "type", "bridge")
            ip("-n", made.switch, "link", "set", "bridge0", "up")
            for number, host in enumerate(made.names):
                port = f"port{number}"
                ends = (port, "type", "veth", "peer", "name", "eth0", "netns", host)
                ip("-n", made.switch, "link", "add", *ends)
                ip("-n", made.switch, "link", "set", port, "master", "bridge0", "up")
                ip("-n", host, "address", "add", f"{made.address(number)}/24", "dev", "eth0")
                for device in ("lo", "eth0"):
                    ip("-n", host, "link", "set", device, "up")
        except OSError as error:
            pytest.skip(f"no network namespaces here: {error}")
        yield made


def wait_until(true: Callable[[], bool], seconds: float, hosts: Hosts) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"{hosts.said(0)}\n{hosts.said(1)}"
        time.sleep(0.05)


@pytest.mark.slow
def test_a_training_goes_on_after_its_link_was_cut(hosts: Hosts, tmp_path: Path) -> None:
    DATA.save(tmp_path / "data")
    (tmp_path / "worker.py").write_text(WORKER)
    run, whole = tmp_path / "run", tmp_path / "undisturbed"
    given = ("train", tmp_path / "data")
    with torchrun("-m", "targcn", *given, *flags(out=whole)) as undisturbed:
        worker = (tmp_path / "worker.py", tmp_path, *given, *flags(out=run))
        launchers = [hosts.torchrun(number, *worker) for number in range(2)]
        both = [tmp_path / f"{rank} is there" for rank in range(2)]
        wait_until(lambda: all(path.exists() for path in both), 100, hosts)
        saved = saved_state(run)[1]
        assert saved["epoch"] == 2
        assert 0 < saved["step"] < 9
        hosts.cable(1, "down")
        (tmp_path / "cable is pulled").touch()
        silent = f"other processes were silent for 5 s ({TIMEOUT})"
        wait_until(lambda: all(silent in hosts.said(number) for number in range(2)), 60, hosts)
        assert saved_state(run)[1] == saved
        hosts.cable(1, "up")
        for launcher in launchers:
            assert launcher.wait(timeout=100) == 0, hosts.said(0)
        assert undisturbed.communicate(timeout=100)[0].count("90 queries, valid split") == 1
    # The first life began with the first step, the second with the one after the last state.
    for rank in range(2):
        began = (tmp_path / f"lives of {rank}").read_text().split()
        assert began == ["0", str(saved["epoch"] * 9 + saved["step"])]
    assert hosts.said(0).count("90 queries, valid split") == 1
    assert same_weights(load_run(run), load_run(whole))
    assert trace_of(run) == trace_of(whole)

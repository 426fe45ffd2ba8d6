"""Several processes that work together, started quickly."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Importing torch takes longer than anything below, so one process does it and forks the others.
# Each request is a number of processes, their arguments (none: no command), and code that each runs
# before.
FORKING = """
import faulthandler, json, os, signal, socket, sys, tempfile
import safetensors.torch, torch._dynamo, torch.nn.parallel
import targcn.models.evidence, targcn.models.floors, targcn.models.targcn
from targcn import cli, distributed
from targcn.evaluation import evaluator as evaluation
from targcn.training import fit as fitting, loop as training
cli.SECONDS_TO_TALK = 0.0

def member(rank, size, port, arguments, before, streams):
    faulthandler.dump_traceback_later(1200, exit=True)
    for number, stream in enumerate(streams, start=1):
        os.dup2(stream.fileno(), number)
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size))
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    try:
        exec(before, globals() | {"rank": rank})
        if arguments is None:
            os._exit(0)
        sys.argv = ["targcn", *arguments]
        cli.program()
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)

for line in sys.stdin:
    size, arguments, before = json.loads(line)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    streams = [[tempfile.TemporaryFile("w+") for _ in range(2)] for _ in range(size)]
    members = []
    for rank in range(size):
        members.append(os.fork())
        if members[-1] == 0:
            member(rank, size, port, arguments, before, streams[rank])
    codes = [os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) for number in members]
    said = []
    for pair in streams:
        for stream in pair:
            stream.seek(0)
            said.append(stream.read())
    print(json.dumps([codes, said[::2], said[1::2]]), flush=True)
"""

# Code for one process, in which a function of the library fails: number and name.
FAILING = """
if rank == {}:
    def failing(*_, **__):
        raise evaluation.InputError("no space left")
    {} = failing
"""

Answer = tuple[list[int], list[str], list[str]]
Start = Callable[..., Answer]


@contextmanager
def forking() -> Iterator[Start]:
    """Run the command line, or other code, in several processes.

    Given back are the exit codes, what each printed, and its complaints.
    """
    with subprocess.Popen(
        [sys.executable, "-c", FORKING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(size: int, *arguments: object, before: str = "") -> Answer:
            command = [*map(str, arguments)] or None
            print(json.dumps([size, command, before]), file=process.stdin, flush=True)
            codes, printed, complaints = json.loads(process.stdout.readline())
            return codes, printed, complaints

        yield ask
        process.stdin.close()


def torchrun(*arguments: object) -> subprocess.Popen[str]:
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    return subprocess.Popen(
        [sys.executable, *launcher, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )

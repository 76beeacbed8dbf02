"""In the place of ``torch.distributed.run``, for images without torch: starts the ranks of one node with their variables,
and ends the others by SIGTERM when one fails; dies of SIGUSR2, as torchrun does, and waits for the other nodes'."""

import os
import pathlib
import signal
import subprocess
import sys
import time

options = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[1:] if word.startswith("--"))
program = [word for word in sys.argv[1:] if not word.startswith("--")]
nodes, each, node = (int(options[name]) for name in ("nnodes", "nproc-per-node", "node-rank"))
ranks = []
for local in range(each):
    own = {"RANK": str(node * each + local), "LOCAL_RANK": str(local), "WORLD_SIZE": str(nodes * each)}
    ranks.append(subprocess.Popen([sys.executable, "-u", *program], env={**os.environ, **own}))


def stop(number, frame):
    for rank in ranks:
        rank.terminate()


signal.signal(signal.SIGTERM, stop)
while None in [rank.poll() for rank in ranks]:
    if any(rank.returncode for rank in ranks):
        stop(None, None)
    time.sleep(0.05)
if not any(rank.returncode for rank in ranks):  # its barrier at the end, which no signal interrupts
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    meeting = pathlib.Path(os.environ["TMPDIR"])
    (meeting / f"ended-{node}").touch()
    while len(list(meeting.glob("ended-*"))) < nodes:
        time.sleep(0.05)
for rank in ranks:
    if rank.returncode < 0:
        print(f"  exitcode  : {rank.returncode} (pid: {rank.pid})", file=sys.stderr, flush=True)
sys.exit(1 if any(rank.returncode for rank in ranks) else 0)

"""ranks.py N JOB...: a process per rank, without torchrun, which Debian's torch 1.13 has not on its Python."""

import os
import socket
import subprocess
import sys

n = int(sys.argv[1])
with socket.socket() as s:
    s.bind(("localhost", 0))
    port = s.getsockname()[1]
started = []
for rank in range(n):
    env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(n), LOCAL_WORLD_SIZE=str(n), MASTER_ADDR="localhost", MASTER_PORT=str(port))
    started.append(subprocess.Popen([sys.executable, *sys.argv[2:]], env=env))
sys.exit(max(abs(p.wait()) for p in started))

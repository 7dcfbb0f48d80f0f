#!/bin/bash
# Real launchers with pipeprobe in front of each rank: a recording per rank without a name given, a rank that is killed, a merge through the launcher.
# `make test-launchers` has Open MPI, SLURM, Ray and PyPI's torchrun as well.
bash "$(dirname "$0")/../launchers.sh" --slice

#!/bin/bash
# make bench-ranks: a slow rank among four, whose storage or CPU is slow from outside, under torchrun and mpiexec: is it named, by what, what does the job gain
# without the fault (tests/lab/jobs/ranks_lab.py).
#
#   ROUNDS=10   of three runs under each launcher; a round takes 1.5 minutes      ONLY=torchrun|mpiexec
#   FAULTS=storage,hog,none   what is planted
#   KEEP=DIR    keeps the recordings       STEPS=80   of a run       PYTHON=...   the interpreter of the jobs, with torch, torchvision and numpy
set -u
cd "$(dirname "$0")/../.." || exit 2
B=${BUILD:-build/release} python=${PYTHON:-/usr/bin/python3}
modules="numpy, torch, torchvision"
[ "${ONLY:-}" != mpiexec ] || modules=numpy
"$python" -c "import $modules" 2>/dev/null || { echo "bench-ranks: $python has no $modules (make deps-test, or PYTHON=...)" >&2; exit 77; }
[ -x "$B/tests/tools/slow_fs" ] || { echo "bench-ranks: libfuse3 was not found when the tests were built (Debian: libfuse3-dev)" >&2; exit 77; }
[ -w /dev/fuse ] || { echo "bench-ranks: there is no /dev/fuse that may be opened" >&2; exit 77; }
command -v mpiexec >/dev/null || { echo "bench-ranks: no mpiexec (Debian: mpich)" >&2; exit 77; }
options=(--rounds "${ROUNDS:-10}" --steps "${STEPS:-80}")
[ -z "${ONLY:-}" ] || options+=(--only "$ONLY")
[ -z "${FAULTS:-}" ] || options+=(--faults "$FAULTS")
[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && options+=(--keep "$KEEP"); } || exit 2
export OMP_NUM_THREADS=1
exec "$python" tests/lab/jobs/ranks_lab.py "$B/pipeprobe" "$B/tests/tools/slow_fs" "$B/samples/make_dataset" "${options[@]}"

#!/bin/bash
# make lab-jobs: what `pipeprobe exec` says of unmodified PyTorch jobs with labelled stalls, and what really helps (tests/lab/jobs/lab_jobs.py).
#
#   SEEDS=20     the seeds, separated by commas      ONLY=a,b      these kinds            ROUNDS=1    of each knob, medians count
#   TRUTH=1      0: verdicts alone                   KEEP=DIR      keeps the recordings   RUN_SECONDS=8   of a run
#   TRACEML=PYTHON  a virtual environment's interpreter with torch, torchvision and traceml-ai: what it says of the same jobs
#   PYTHON=...   the interpreter of the jobs; without it /usr/bin/python3 or the first on PATH with torch, torchvision and numpy
#
# A run of all kinds with one seed and one round takes 22 minutes on an idle machine; each further round 17 more.
set -u
cd "$(dirname "$0")/../.." || exit 2
B=${BUILD:-build/release}
for python in ${PYTHON:-/usr/bin/python3 $(type -ap python3 python)}; do
    "$python" -c 'import numpy, torch, torchvision' 2>/dev/null && break
    python=
done
[ -n "$python" ] || { echo "lab-jobs: ${PYTHON:-no python3 on PATH} has no torch, torchvision and numpy (make deps-test, or PYTHON=...)" >&2; exit 77; }
[ -x "$B/tests/tools/slow_fs" ] || { echo "lab-jobs: libfuse3 was not found when the tests were built (Debian: libfuse3-dev)" >&2; exit 77; }
[ -w /dev/fuse ] || { echo "lab-jobs: there is no /dev/fuse that may be opened" >&2; exit 77; }
options=(--seeds "${SEEDS:-20}" --rounds "${ROUNDS:-1}" --seconds "${RUN_SECONDS:-8}")
[ -z "${ONLY:-}" ] || options+=(--only "$ONLY")
[ "${TRUTH:-1}" != 0 ] || options+=(--no-truth)
[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && options+=(--keep "$KEEP"); } || exit 2
[ -z "${TRACEML:-}" ] || options+=(--traceml "$TRACEML")
exec "$python" tests/lab/jobs/lab_jobs.py "$B/pipeprobe" "$B/tests/tools/slow_fs" "$B/samples/make_dataset" "${options[@]}"

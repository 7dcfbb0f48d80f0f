#!/bin/bash
# tests/field/field.sh ARGUMENTS: tests/field/run.py (SCRIPT: another one) with a Python that has what the jobs need. FIELD_PYTHON names one; otherwise PyTorch and
# the libraries of the reports come from PyPI into build/venvs/field (6 GB, once).
set -u
cd "$(dirname "$0")/../.." || exit 2
VENVS=${VENVS:-build/venvs} NEED_KIB=9000000
dir=$VENVS/field
PACKAGES="torch torchvision pandas pillow datasets lightning opencv-python-headless h5py webdataset requests pyarrow boto3 s3fs aiohttp httpx smart_open[s3]"
if [ -z "${FIELD_PYTHON:-}" ] && [ ! -e "$dir/complete" ]; then
    mkdir -p "$VENVS" || exit 2
    if [ "$(df --output=avail "$VENVS" | tail -n 1)" -lt $NEED_KIB ]; then
        echo "field: less than 9 GB are free in $VENVS" >&2
        exit 2
    fi
    log=$(mktemp) || exit 2
    trap 'rm -f "$log"' EXIT
    rm -rf "$dir"
    echo "PyTorch and the libraries of the reports from PyPI into $dir"
    # shellcheck disable=SC2086
    if ! { python3 -m venv "$dir" && timeout 1200 "$dir/bin/pip" install -q --no-cache-dir --retries 1 $PACKAGES; } >"$log" 2>&1; then
        echo "field: $(tail -n 1 "$log" | cut -c1-200)" >&2
        rm -rf "$dir"
        exit 2
    fi
    touch "$dir/complete"
fi
exec "${FIELD_PYTHON:-$dir/bin/python}" "${SCRIPT:-tests/field/run.py}" "$@"

#!/bin/bash
# tests/resume/right.sh [JOB...]: `make resume-right`. Jobs that are resumed right (right.py) are killed and resumed by resume-test: each must be exact.
# `make resume-kills`: five of them at 50 random batches each. $PYTHON and $VENV (frameworks, 7 GB, made of PyPI where it is not there) are tried in turn;
# a job whose modules neither has is skipped by name. $KILLS: options that choose the kills (default: the five of resume-test). Prints TAP, how many kills
# were judged, and at how many of them the batches killed and resumed behind are those that the job itself says.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
VENV=${VENV:-build/venvs/resume} KILLS=${KILLS:-}
JOBS=$PWD/tests/resume/right.py kills=0 exact=0 told=0 placed=0
if [ ! -e "$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip_all "the extension is not built: no Python.h"; fi
if [ ! -x "$VENV/bin/python" ] && [ -z "${OFFLINE:-}" ]; then
    { python3 -m venv "$VENV" && timeout 1500 "$VENV/bin/pip" install -q --no-cache-dir --retries 1 torch torchdata lightning transformers accelerate datasets webdataset safetensors &&
        "$VENV/bin/pip" install -q --no-deps mosaicml-streaming torchvision && "$VENV/bin/pip" install -q pillow catalogue boto3 oci azure-storage-blob azure-storage-file-datalake google-cloud-storage paramiko zstd python-snappy brotli; } >"$T/venv" 2>&1 ||
        { note <"$T/venv"; rm -rf "$VENV"; }
fi

# The first interpreter that has the modules.
python_with() { # MODULE...
    local python
    for python in "${PYTHON:-/usr/bin/python3}" "$VENV/bin/python"; do
        [[ $* != *torchrun* || -x $(dirname "$python")/torchrun ]] || continue
        # shellcheck disable=SC2048,SC2086
        "$python" -c "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ['torch'] + sys.argv[1:])))" ${*/torchrun/torch.compiler} 2>/dev/null && echo "$python" && return
    done
}

# What the job itself says, where it does: which batch it was killed behind (a step may be unsaid yet), and which one it began behind.
check_positions() { # DIRECTORY
    local kill resume killed_at resumed_at before said
    while read -r kill resume killed_at resumed_at; do
        read -r before said < <(grep '^trained' "$1/$kill/start$resume.log" | tail -n 2 | cut -d' ' -f2 | tr '\n' ' ')
        if [ -z "$said" ] || ! grep -q '^begins' "$1/$kill/start$((resume + 1)).log"; then continue; fi
        told=$((told + 1))
        if [ $((killed_at - said)) -le $((said - before)) ] && [ "$killed_at" -ge "$said" ] && grep -qx "begins behind $resumed_at" "$1/$kill/start$((resume + 1)).log"; then
            placed=$((placed + 1))
        else
            fail "$(basename "$1"), $kill: its position" <<<"killed behind $killed_at, resumed behind $resumed_at; it says $said, $(grep '^begins' "$1/$kill/start$((resume + 1)).log")"
        fi
    done < <(sqlite3 -separator ' ' :memory: "SELECT value ->> 'name', CAST(value ->> 'resume' AS INT), CAST(value ->> 'killed_at' AS INT), CAST(value ->> 'resumed_at' AS INT)
        FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.kills') WHERE value ->> 'resumed_at' IS NOT NULL" 2>/dev/null)
}

while IFS='|' read -r name needs ranks options; do
    [ $# -eq 0 ] || [[ " $* " = *" $name "* ]] || continue
    # shellcheck disable=SC2086
    python=$(python_with $needs)
    [ -n "$python" ] || { skip "$name" "no interpreter with torch ${needs}"; continue; }
    read -r before behind <<<"$ranks"
    job=("$python") resumed=()
    if [ "$needs" = torchrun ]; then
        launch="$(dirname "$python")/torchrun --standalone --nproc-per-node"
        read -ra job <<<"$launch $before"
        resumed=(--resume-with "$launch $behind $JOBS $name --out {dir}")
    fi
    # shellcheck disable=SC1083,SC2086
    run env OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 timeout 3600 "$PP" resume-test --yes --quiet --json -o "$T/$name" $options $KILLS "${resumed[@]}" -- "${job[@]}" "$JOBS" "$name" --out {dir}
    read -r right wrong untold < <(sqlite3 -separator ' ' :memory: "SELECT CAST(j ->> 'exact' AS INT), CAST(j ->> 'differing' AS INT), CAST(j ->> 'untold' AS INT) FROM (SELECT CAST(readfile('$OUT') AS TEXT) AS j) WHERE json_valid(j)") || read -r right wrong untold <<<"0 0 1"
    kills=$((kills + right + wrong + untold)) exact=$((exact + right))
    is "$name: $right kills exact" "$rc $wrong $untold" "0 0 0"
    [ "$rc" -eq 0 ] || { grep -Eo "\"sentence\": *\"[^\"]*\"" "$OUT" | sort | uniq -c; tail -n 2 "$ERR"; } | note
    check_positions "$T/$name"
done < <("${PYTHON:-/usr/bin/python3}" "$JOBS" --list)
echo "# $exact of $kills kills exact; positions as the job says: $placed of $told"
done_testing

#!/bin/bash
# What torch.save, safetensors and torch.distributed.checkpoint (also async_save) write is recorded as a save, each behind the batch that the job says; what
# reads it as a restore. The first of $PYTHON and the environments of `make resume-right` and of tests/newest_torch.sh that has a library tries it.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
if [ ! -e "$BUILD/python/attach/_pipeprobe.abi3.so" ]; then skip_all "the extension is not built: no Python.h"; fi

# kind | what to import | functions that save, functions that restore: each in the order of tests/jobs/saves.py
while IFS='|' read -r kind import saves restores; do
    python=
    for p in "${PYTHON:-/usr/bin/python3}" build/venvs/{resume,torch,newest}/bin/python "${VENV:-build}/bin/python"; do
        [ -n "$python" ] || ! "$p" -c "import torch.utils.data; $import" 2>/dev/null || python=$p
    done
    if [ -z "$python" ]; then skip "$kind" "no interpreter can: $import"; continue; fi
    mkdir "$T/$kind"
    run timeout 120 "$PP" exec -q -o "$T/$kind.sqlite" -- "$python" tests/jobs/saves.py "$kind" "$T/$kind/"
    said=$(grep '^saved' "$OUT")
    is "$kind: saves, behind the batches that the job says" "$rc $(sql "$T/$kind.sqlite" "SELECT group_concat('saved ' || path || ' behind ' || step, char(10)) FROM (SELECT path, min(step) AS step FROM state_event WHERE action = 'save' GROUP BY path ORDER BY min(t_ns))")" "0 $said"
    is "$kind: by these functions" "$(sql "$T/$kind.sqlite" "SELECT group_concat(via, ' ') FROM (SELECT DISTINCT replace(via, rtrim(via, replace(via, '.', '')), '') AS via FROM state_event WHERE action = 'save' ORDER BY via)")" "$saves"
    is "$kind: restores" "$(sql "$T/$kind.sqlite" "SELECT group_concat(via, ' ') FROM (SELECT DISTINCT replace(via, rtrim(via, replace(via, '.', '')), '') AS via FROM state_event WHERE action = 'restore' ORDER BY via)")" "$restores"
    echo "# $kind: torch $("$python" -c 'import torch; print(torch.__version__)')"
done <<'ROWS'
torch|import torch|save|load
safetensors|import safetensors.torch|save_file save_model|load_file load_model
sharded|from torch.distributed.checkpoint import async_save|async_save save|load
ROWS
done_testing

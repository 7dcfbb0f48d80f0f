#!/bin/bash
# tests/frameworks.sh [--slice]: the jobs of tests/jobs/rows.py under every PyTorch that can be had, each run without and with pipeprobe.
#
# Interpreters are Debian's and virtual environments in $VENVS (build/venvs), made from PyPI where it is reachable; one takes up to 7 GB. --slice is what
# `make test` runs: Debian's interpreter with a few small packages beside it, all jobs in one process, and the newest PyTorch (tests/newest_torch.sh).
# ONLY=REGEX chooses rows "INTERPRETER ROW"; TOGETHER=1 runs all jobs of an interpreter in one process, where importing torch is most of the time.
# LIMIT: seconds that a process may take (250).
. "$(dirname "$0")/lib.sh"
need_pipeprobe
VENVS=${VENVS:-$PWD/build/venvs} ONLY=${ONLY:-.} LIMIT=${LIMIT:-250}
JOB=$PWD/tests/jobs/rows.py R=$T/run.sqlite
export PYTHONHASHSEED=0 OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1 ROWS_SCRATCH=$T
slice=
[ "${1:-}" = --slice ] && slice=1
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"

# interpreter | what pip installs for it | an import that must work
pythons() {
    cat <<'ROWS'
debian||torch
newest|torch torchvision torchdata webdataset datasets transformers accelerate lightning h5py opencv-python-headless monai|torch
2.6|torch==2.6.0 torchvision==0.21.0 torchdata==0.11.0 numpy|torch
2.2|torch==2.2.2 torchvision==0.17.2 numpy<2|torch
dali|nvidia-dali-cuda120 nvtx numpy|nvidia.dali
loaders|grain torch torchdata spdl tensorflow-cpu keras nvidia-dali-cuda120 ray pandas pyarrow|numpy
ROWS
}
# Beside Debian's torch; what the newest release of each asks of numpy is more than Debian has.
SMALL='webdataset==0.2.111 braceexpand==0.1.7 h5py==3.11.0 opencv-python-headless==4.10.0.84'

# job | phases that its recording has
rows() {
    cat <<'ROWS'
plain|dispatch_wait read decode transform collate put_wait data_wait step
start_methods|dispatch_wait read decode transform collate put_wait data_wait step
subsets|read decode transform collate put_wait data_wait step
samplers|read decode transform collate put_wait data_wait step
unequal_streams|read decode transform collate put_wait data_wait step
old_compiler|read decode transform collate put_wait data_wait step
no_loader|transform collate put_wait data_wait step
two_loaders|read decode transform collate put_wait data_wait step
any_order|read decode transform collate put_wait data_wait step
checkpoints|read decode transform collate put_wait data_wait step checkpoint
pinned|read decode transform collate get_wait pin put_wait data_wait step
worker_fails|read decode transform collate put_wait data_wait step
worker_killed|read decode transform collate put_wait data_wait step
torchvision_io|read decode transform collate put_wait data_wait step
numpy_files|read transform collate put_wait data_wait step
hdf5|read transform collate put_wait data_wait step
opencv|read decode transform collate put_wait data_wait step
transforms_v1|read decode transform collate put_wait data_wait step
transforms_v2|read decode transform collate put_wait data_wait step
stateful|read decode transform collate put_wait data_wait step
stateful_data|transform collate put_wait data_wait
web_dataset|read decode transform collate put_wait data_wait step
hf_datasets|transform collate put_wait data_wait step
hf_trainer|transform collate put_wait data_wait step checkpoint
accelerated|transform collate put_wait data_wait step
lightning_module|transform collate put_wait data_wait step checkpoint
compiled|read decode transform collate put_wait data_wait step
monai_threads|read decode transform collate put_wait data_wait step
ROWS
}

# Numbers, addresses and times differ from run to run, which line of its own torch was at when a worker's message came, and the order of the workers' lines.
# What Python's resource tracker says of semaphores comes by chance without pipeprobe, too: tests/tools/semaphores_at_exit.py.
masked() { sed -E 's/0x[0-9a-f]+//g; s/[0-9]+//g; s/line , in _next_data/_next_data/' "$1" | grep -vE '^ *[~^]+$|resource_tracker|_next_data|^ +(idx, )?data = |_get_data|_try_put_index' | sort; }

# recorded NAME PHASES JOB...: the jobs run in one process, without and with pipeprobe.
recorded() {
    local name=$1 phases=$2 plain_rc missing
    shift 2
    rm -rf "$T/rows"
    timeout "$LIMIT" "$PYTHON" "$JOB" "$T/images" "$@" >"$T/plain.out" 2>"$T/plain.err" </dev/null
    plain_rc=$?
    rm -rf "$T/rows"
    run timeout "$LIMIT" "$PP" exec -q --force -o "$R" -- "$PYTHON" "$JOB" "$T/images" "$@"
    is "$name: exit status" "$rc $plain_rc" "0 0"
    is "$name: output, losses, order, random state" "$(grep -v train_runtime "$OUT")" "$(grep -v train_runtime "$T/plain.out")"
    is "$name: standard error" "$(masked "$ERR")" "$(masked "$T/plain.err")"
    is "$name: every hook fits and stays on" "$(sql "$R" "SELECT value FROM meta WHERE section = 'process_note'")" ""
    is "$name: samples counted are those delivered" "$(sql "$R" "SELECT coalesce(sum(samples), 0) FROM v_span WHERE phase = 'data_wait'")" "$(sed -n 's/^given //p' "$OUT")"
    missing=$(for phase in $phases; do [ "$(sql "$R" "SELECT count(*) > 0 FROM v_span WHERE phase = '$phase'")" = 1 ] || echo "$phase"; done)
    is "$name: phases" "$missing" ""
    is "$name: the trainer's batches are the workers'" "$(sql "$R" "SELECT count(*) FROM v_span WHERE phase = 'data_wait' AND batch NOT IN (SELECT batch FROM v_span WHERE phase = 'collate')" 2>&1)" 0
    "$PP" report --json "$R" >"$T/report.json" 2>"$T/report.err"
    like "$name: the report has a verdict" "$(json "$T/report.json" '$.verdict.l0')" 'input-bound|inconclusive|cpu-starved'
    like "$name: and its lanes" "$(sqlite3 :memory: "SELECT group_concat(DISTINCT json_extract(value, '\$.lane')) FROM json_each(CAST(readfile('$T/report.json') AS TEXT), '\$.phases')")" 'worker.*trainer'
}

# Which of them can run with $PYTHON; the others are skipped by name, with what they lack.
able() { # INTERPRETER JOB...
    local who=$1 lack
    shift
    "$PYTHON" "$JOB" --able "$@" 2>"$T/lacks" >"$T/able"
    while read -r lack; do skip "$who ${lack%%:*}" "${lack#*: }"; done < <(grep -E '^[a-z_0-9]+: ' "$T/lacks")
}

# Two ranks: neither output nor samples nor lanes of one are those of the other. The torchrun of torch 1.13 does not start under Python 3.11: there two
# processes are started with what it would tell them.
ranks() { # INTERPRETER
    local who=$1 rank how pid file
    for how in plain recorded; do
        mkdir -p "$T/$how"
        set -- "$PYTHON" -m torch.distributed.run --standalone --nproc_per_node 2 "$JOB" "$T/images" ranks
        [ "$who" != debian ] || set -- env MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 12000)) WORLD_SIZE=2 bash -c \
            'RANK=0 "$@" & RANK=1 "$@"; status=$?; wait $! && exit $status' ranks "$PYTHON" "$JOB" "$T/images" ranks
        [ $how = plain ] || set -- "$PP" exec -q --force -o "$R" -- "$@"
        ROWS_SCRATCH=$T/$how run timeout "$LIMIT" "$@"
        is "$who two ranks: exit status, $how" "$rc" 0
    done
    for rank in 0 1; do is "$who two ranks: samples and order of rank $rank" "$(cat "$T"/recorded/*/rank$rank)" "$(cat "$T"/plain/*/rank$rank)"; done
    for rank in 0 1; do # each has a recording of its own
        file=${R%.sqlite}-rank000$rank.sqlite
        is "$who two ranks: the hooks of rank $rank stayed on" "$(sql "$file" "SELECT value FROM meta WHERE section = 'process_note'")" ""
        is "$who two ranks: rank $rank has its trainer" "$(sql "$file" "SELECT count(*) FROM thread WHERE lane = 'trainer'")" 1
        is "$who two ranks: and its samples" "$(sql "$file" "SELECT sum(s.samples) FROM span s JOIN phase p ON p.id = s.phase WHERE p.name = 'data_wait'")" 30
        rm -f "$file"
    done
    rm -rf "$T/plain" "$T/recorded"
}

# A pipeline of DALI, which is no DataLoader: its own NVTX ranges, and the calls that give its batches.
# A verdict needs a second of steady state: a batch of these small images takes 2 ms.
dali() {
    run timeout "$LIMIT" "$PYTHON" "$PWD/tests/jobs/dali.py" "$T/images" 1500
    cp "$OUT" "$T/plain.out"
    is "dali: it runs without" "$rc" 0
    run timeout "$LIMIT" "$PP" exec -q --force -o "$R" -- "$PYTHON" "$PWD/tests/jobs/dali.py" "$T/images" 1500
    is "dali: exit status and standard error" "$rc $(cat "$ERR")" "0 "
    is "dali: batches" "$(cat "$OUT")" "$(cat "$T/plain.out")"
    is "dali: nothing went wrong" "$(sql "$R" "SELECT value FROM meta WHERE section = 'process_note'")" ""
    is "dali: waits" "$(sql "$R" "SELECT count(*) FROM v_span WHERE phase = 'data_wait'")" 1500
    run "$PP" report "$R" --json
    judged like "dali: the cause of the stalls" "$(json "$OUT" '$.verdict.l1')" "^(loader|transform)$"
    is "dali: advice is no line of a DataLoader" "$(json "$OUT" '$.verdict.python')$(json "$OUT" '$.verdict.pytorch')" ""
    like "dali: but of the pipeline" "$(json "$OUT" '$.verdict.next_step') $(json "$OUT" '$.verdict.dali')" "num_threads|prefetch_queue_depth|fn\\.|DALI_AFFINITY_MASK"
    is "dali: nothing of another loader is predicted" "$(sql :memory: "SELECT count(*) FROM json_each(CAST(readfile('$OUT') AS TEXT), '\$.verdict.fixes') WHERE json_extract(value, '\$.knob') IN ('workers', 'prefetch')")" 0
    is "dali: what its threads do" "$(for phase in read decode transform; do [ "$(sql "$R" "SELECT count(*) >= 40 FROM v_span WHERE phase = '$phase' AND lane = 'worker'")" = 1 ] || echo "$phase"; done)" ""
}

# Loaders of other frameworks: the same batches, each wait recorded and as long as the job's own clock says, and the cause of what was made slow.
OWN_WORDS='[[:space:]](INFO|WARNING) |resource_tracker' # of Ray, and of Grain's processes at their end: now and then, without us too
LOADERS='grain grain_processes grain_loader nodes spdl tensorflow keras dali ray'
[ -z "$slice" ] || LOADERS=nodes # which is beside the newest torch
. tests/slow_fs.sh
loader_of() { # FRAMEWORK MODE BATCHES CAUSE
    local job=$PWD/tests/jobs/other_loaders.py name="$1 $2" dir=$T/loads waited
    [ "$2" != storage ] || dir=$T/slow
    run timeout "$LIMIT" "$PYTHON" "$job" "$1" "$dir" "$2" "$3"
    cp "$OUT" "$T/plain.out"
    cp "$ERR" "$T/plain.err"
    is "$name: it runs without" "$rc" 0
    run timeout "$LIMIT" "$PP" exec -q --force -o "$R" -- "$PYTHON" "$job" "$1" "$dir" "$2" "$3"
    is "$name: exit status and batches" "$rc $(cat "$OUT")" "0 $(cat "$T/plain.out")"
    is "$name: standard error" "$(masked "$ERR" | grep -vE "$OWN_WORDS")" "$(masked "$T/plain.err" | grep -vE "$OWN_WORDS")"
    is "$name: every hook fits" "$(sql "$R" "SELECT value FROM meta WHERE section = 'process_note'")" ""
    [ "$1" != keras ] || is "$name: whose loader it is" "$(sql "$R" "SELECT value FROM meta WHERE section = 'config' AND key = 'loader'")" keras
    is "$name: each batch is a wait" "$(sql "$R" "SELECT count(DISTINCT batch) FROM v_span WHERE phase = 'data_wait'")" "$3"
    waited=$(sed -n 's/^waited \(.*\) %.*/\1/p' "$ERR")
    "$PP" report --json "$R" >"$T/report.json" 2>"$T/report.err"
    if [ "$2" = bound ]; then
        is "$name: the step is what takes long" "$(json "$T/report.json" '$.verdict.l0')" not-input-bound
        return
    fi
    [ -z "$waited" ] || holds "$name: waits as the job's clock says ($waited %)" "($(json "$T/report.json" '$.data_wait_share') * 100 - $waited) ^ 2 < 20 ^ 2"
    like "$name: the trainer waits for data" "$(json "$T/report.json" '$.verdict.l0')" '^(input-bound|cpu-starved)$'
    if [ "$(json "$T/report.json" '$.verdict.l2')" = cpu-contended ]; then skip "$name: the cause" "other processes used the CPUs"
    else like "$name: the cause" "$(json "$T/report.json" '$.verdict.l1')" "$4"; fi
}
module_of() { sed 's/^grain_.*/grain/; s/^nodes/torchdata.nodes/; s/^dali/nvidia.dali/; s/^ray/ray.data/' <<<"$1"; }
loaders() {
    local job why
    mkdir -p "$T/loads"
    for i in $(seq 100); do head -c 32768 /dev/urandom >"$T/loads/$i"; done
    why=$(why_no_fuse)
    [ -n "$why" ] || slow_mount "$T/loads" open_ms=4,read_ms=2 || why="no slow mount: $(tail -n 1 "$T/slow.log")"
    [ -z "$why" ] || skip "slow storage of other loaders" "$why"
    export RAY_AUTH_MODE=disabled
    for job in $LOADERS; do
        grep -Eq -- "$ONLY" <<<"loaders $job" || continue
        if ! "$PYTHON" -c "import $(module_of "$job")" 2>"$T/import"; then
            skip "$job" "$(tail -n 1 "$T/import")"
            continue
        fi
        echo "# $job: $("$PYTHON" -c 'import importlib.metadata as m, sys; name = sys.argv[1]; d = sorted(m.packages_distributions()[name.split(".")[0]], key=lambda d: name.split(".")[-1] not in d)[0]; print(d, m.version(d))' "$(module_of "$job")")"
        loader_of "$job" transform 60 '^(transform|loader)$'
        [ -n "$why" ] || loader_of "$job" storage 60 '^storage$'
        loader_of "$job" bound 15
    done
    [ -n "$why" ] || slow_unmount
}

interpreter() { # NAME REQUIREMENTS: $PYTHON, or $why it cannot be had
    local dir=$VENVS/$1
    why=
    if [ "$1" = debian ]; then
        PYTHON=/usr/bin/python3
        [ -x $PYTHON ] || why="there is no $PYTHON"
        return
    fi
    PYTHON=$dir/bin/python
    [ -e "$dir/complete" ] && return
    if [ $slice ]; then
        PYTHON=$VENVS/torch/bin/python why="no $dir: make test-frameworks makes it"
        [[ $1 != newest && $1 != loaders ]] || why="no $VENVS/torch: tests/newest_torch.sh makes it"
        [[ $1 != newest && $1 != loaders ]] || [ ! -e "$VENVS/torch/complete" ] || why=
        return
    fi
    # shellcheck disable=SC2086
    if { rm -rf "$dir" && python3 -m venv "$dir" && "$dir/bin/pip" install -q --retries 1 $2; } >"$T/pip" 2>&1; then touch "$dir/complete"
    else why="pip: $(tail -n 1 "$T/pip" | cut -c1-150)"; fi
}

beside_debian() { # small packages for the slice, within two minutes
    local dir=$VENVS/debian-small
    # shellcheck disable=SC2086
    if [ ! -e "$dir/complete" ] && ! { timeout 120 python3 -m pip --python /usr/bin/python3 install -q --retries 0 --no-deps --target "$dir" $SMALL &&
        touch "$dir/complete"; } >"$T/pip" 2>&1; then
        rm -rf "$dir"
        skip "debian's torch with packages of PyPI" "pip: $(tail -n 1 "$T/pip" | cut -c1-150)"
        return
    fi
    export PYTHONPATH=$dir
}

"$PWD/$BUILD/samples/make_dataset" "$T/images" --n 60 --classes 3 --size 160x120 >/dev/null
while IFS='|' read -r who requirements import <&3; do
    if [ "$who" = dali ]; then echo dali; elif [ "$who" = loaders ]; then tr ' ' '\n' <<<"$LOADERS"; else rows; echo ranks; fi | sed "s/|.*//; s/^/$who /" | grep -Eq -- "$ONLY" || continue
    unset PYTHONPATH # pip would take what lies there for installed
    interpreter "$who" "$requirements"
    if [ -z "$why" ] && ! "$PYTHON" -c "import $import" 2>"$T/import"; then why=$(tail -n 1 "$T/import"); fi
    if [ -n "$why" ]; then skip "$who" "$why"; continue; fi
    [ "$who" = dali ] || echo "# $who: $("$PYTHON" -c 'import sys, torch; print("Python %d.%d," % sys.version_info[:2], "PyTorch", torch.__version__.split("+")[0].split("a")[0])')"
    if [ "$who" = dali ]; then dali; continue; fi
    if [ "$who" = loaders ]; then loaders; continue; fi
    [ "$who" != debian ] || beside_debian
    mapfile -t jobs < <(rows | while IFS='|' read -r job _; do grep -Eq -- "$ONLY" <<<"$who $job" && echo "$job"; done)
    [ ${#jobs[@]} -gt 0 ] || continue
    # Workers that are not forked are another test's: an_unmodified_pytorch_job_is_recorded.sh.
    [ -z "$slice" ] || mapfile -t jobs < <(printf '%s\n' "${jobs[@]}" | grep -vx start_methods)
    # What Debian's cannot, and one job of both.
    [ -z "$slice" ] || [ "$who" = debian ] || mapfile -t jobs < <(printf '%s\n' "${jobs[@]}" | grep -xE 'plain|any_order|torchvision_io|transforms_v2|stateful|stateful_data|compiled')
    able "$who" "${jobs[@]}"
    mapfile -t jobs <"$T/able"
    if [ "${slice}${TOGETHER:-}" ]; then
        recorded "$who" "$(rows | grep -wF "$(printf '%s\n' "${jobs[@]}")" | cut -d'|' -f2 | tr ' ' '\n' | sort -u | tr '\n' ' ')" "${jobs[@]}"
    else
        for job in "${jobs[@]}"; do recorded "$who $job" "$(rows | sed -n "s/^$job|//p")" "$job"; done
    fi
    ! grep -Eq -- "$ONLY" <<<"$who ranks" || ranks "$who"
done 3< <(pythons)
done_testing

#!/bin/bash
# tests/launchers.sh [--slice]: the recipes of docs/guide/many-ranks.md with real launchers: MPICH, Open MPI, SLURM on one node, torchrun, accelerate, Ray, the
# variables of pods of Kubernetes, and ranks that are started by hand and share a directory. A recording per rank without a file's name, who each is, exit status, a rank that is killed, a merge through the launcher.
#
# Open MPI and SLURM are the machine's own, or Debian's packages unpacked into $VENVS/launchers (110 MB; nothing is installed). Ray comes from PyPI into
# $VENVS/ray. --slice is what `make test` runs: mpiexec as it is installed. ONLY=REGEX chooses rows by name. PYTHON: an interpreter with torch (Debian's).
. "$(dirname "$0")/lib.sh"
need_pipeprobe
VENVS=${VENVS:-$PWD/build/venvs} ONLY=${ONLY:-.}
VENVS=$(realpath -m "$VENVS")
PYTHON=${PYTHON:-/usr/bin/python3}
DEBS=$VENVS/launchers HERE=$PWD
slice=
[ "${1:-}" = --slice ] && slice=1
export PYTHON OMP_NUM_THREADS=1 PIDS=$T/pids PP
servers=()
cleanup() {
    [ ${#servers[@]} -eq 0 ] || { kill "${servers[@]}"; wait "${servers[@]}"; } 2>/dev/null
    rm -rf "$T"
}
cd "$T" || exit 1
mkdir "$PIDS"

# ---- launchers that are not installed ----

# Into $DEBS, with what they depend on. $why not.
unpacked() { # PACKAGE...
    local names deb
    why=
    [ ! -e "$DEBS/complete" ] || return 0
    if [ -n "$slice" ]; then why="not installed; make test-launchers unpacks it"; return 1; fi
    rm -rf "$DEBS" && mkdir -p "$DEBS/debs"
    names=$(apt-get -s install --no-install-recommends "$@" 2>"$T/apt" | sed -n 's/^Inst \([^ ]*\).*/\1/p')
    # shellcheck disable=SC2086
    if [ -n "$names" ] && (cd "$DEBS/debs" && timeout 300 apt-get -q download $names) >"$T/apt" 2>&1; then
        for deb in "$DEBS"/debs/*.deb; do dpkg-deb -x "$deb" "$DEBS" || why="dpkg-deb: $deb"; done
    else why="apt-get: $(tail -n 1 "$T/apt" | cut -c1-150)"; fi
    rm -rf "$DEBS/debs"
    [ -z "$why" ] && touch "$DEBS/complete"
}
PACKAGES="openmpi-bin slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge"
LIBS=/usr/lib/$(uname -m)-linux-gnu

# ---- what every row asks ----

has_torch() { [ -e "$(dirname "$PP")/python/attach/_pipeprobe.abi3.so" ] && "$PYTHON" -c 'import torch' 2>/dev/null; }
ranks_of() { sqlite3 :memory: "SELECT group_concat(json_extract(value, '\$.$2'), ' ') FROM json_each(CAST(readfile('$1') AS TEXT), '\$.ranks')"; }
await() { for _ in $(seq 2400); do "$@" && return; sleep 0.05; done; return 1; }
# A look at a recording that is being written, which makes no file beside it.
has_steps() { # DIRECTORY RANK
    [ "$(sqlite3 -readonly "$(ls "$1"/*rank000"$2".sqlite 2>/dev/null | head -n 1)" "SELECT count(DISTINCT batch) >= 60 FROM rollup_batch" 2>/dev/null)" = 1 ]
}

# Runs a command as a rank whose process id is known, for the tests that kill one.
cat >rank.sh <<'END'
for rank in "$RANK" "$OMPI_COMM_WORLD_RANK" "$PMI_RANK" "$SLURM_PROCID"; do [ -z "$rank" ] || break; done
echo $$ >"$PIDS/$rank"
exec "$@"
END

# A run without a verdict, as one of two seconds may be where the machine is busy, ends with 3, and a launcher would end the others.
cat >run.sh <<'END'
"$PP" run "$@"
rc=$?
[ $rc -eq 3 ] || exit $rc
END

# identified NAME DIRECTORY LAUNCHER: a recording per rank of four, and who they are.
identified() {
    is "$1: a file per rank, and none beside them" "$(ls "$2" | sed 's/.*rank/rank/' | paste -sd' ')" "rank0000.sqlite rank0001.sqlite rank0002.sqlite rank0003.sqlite"
    run "$PP" ranks "$2" --json
    is "$1: ranks, of how many, missing" "$(ranks_of "$OUT" rank) of $(json "$OUT" '$.world_size'), $(json "$OUT" '$.missing_ranks') missing" "0 1 2 3 of 4, 0 missing"
    is "$1: local ranks and machine" "$(ranks_of "$OUT" local_rank), $(ranks_of "$OUT" host | tr ' ' '\n' | sort -u)" "${LOCAL:-0 1 2 3}, $(uname -n)"
    is "$1: launcher" "$(json "$OUT" '$.launcher')" "$3"
    is "$1: one job" "$(for f in "$2"/*; do sql "$f" "SELECT 'job ' || group_concat(value) FROM meta WHERE section = 'rank' AND key = 'job'"; done | sort -u | wc -l)" 1
}

# audited NAME DIRECTORY: the data was divided: each sample once over all ranks.
audited() {
    run "$PP" ranks "$2" --audit --json
    is "$1: each sample once over the four ranks" "$rc $(json "$OUT" '$.kind')" "0 clean"
}

# reduced NAME DIRECTORY LAUNCHER...: a digest per rank, then of two, then of all: the bytes of one merge.
reduced() {
    local name=$1 job=$2
    shift 2
    mkdir "$T/$name-parts" "$T/$name-halves"
    cat >"$T/$name-leaf.sh" <<END
for rank in "\$OMPI_COMM_WORLD_RANK" "\$PMI_RANK" "\$SLURM_PROCID"; do [ -z "\$rank" ] || break; done
exec "\$PP" merge "$job"/*rank000\$rank.sqlite -o "$T/$name-parts/\$rank.digest"
END
    cat >"$T/$name-node.sh" <<END
for rank in "\$OMPI_COMM_WORLD_RANK" "\$PMI_RANK" "\$SLURM_PROCID"; do [ -z "\$rank" ] || break; done
exec "\$PP" merge "$T/$name-parts/\$((2 * rank)).digest" "$T/$name-parts/\$((2 * rank + 1)).digest" -o "$T/$name-halves/\$rank.digest"
END
    run timeout 120 "$@" -n 4 sh "$T/$name-leaf.sh"
    is "$name: a digest per rank, through the launcher" "$rc $(ls "$T/$name-parts" | paste -sd' ')" "0 0.digest 1.digest 2.digest 3.digest"
    run timeout 120 "$@" -n 2 sh "$T/$name-node.sh"
    is "$name: two of them to one" "$rc $(ls "$T/$name-halves" | paste -sd' ')" "0 0.digest 1.digest"
    run "$PP" merge "$T/$name-halves" -o "$T/$name-tree.digest"
    run "$PP" merge "$job" -o "$T/$name-once.digest"
    check "$name: the tree has the bytes of one merge" cmp "$T/$name-tree.digest" "$T/$name-once.digest"
}

# status_passes NAME LAUNCHER...: what the launcher says of a job that fails, without and with pipeprobe.
status_passes() {
    local name=$1 plain
    shift
    timeout 100 "$@" sh -c 'sleep 0.2; exit 7' >/dev/null 2>&1 </dev/null
    plain=$?
    run timeout 100 "$@" "$PP" exec -q -o "$T/$name-status/" -- sh -c 'sleep 0.2; exit 7'
    is "$name: exit status of a job that fails" "$rc, not 0: $((rc != 0))" "$plain, not 0: 1"
}

# killed NAME DIRECTORY RANK COMMAND...: the rank is killed in the middle of the job; the others' files are whole, and it is named.
killed() {
    local name=$1 dir=$2 rank=$3 launcher file whole=
    shift 3
    rm -f "$PIDS"/*
    "$@" >"$T/$name-killed.out" 2>"$T/$name-killed.err" </dev/null &
    launcher=$!
    servers=("$launcher" "${servers[@]}")
    check "$name: a rank is killed: it has steps in its file before" await has_steps "$dir" "$rank"
    kill -KILL "$(cat "$PIDS/$rank")"
    await is_over "$launcher" || kill -INT "$launcher"
    wait "$launcher"
    rc=$?
    servers=("${servers[@]:1}")
    is "$name: a rank is killed: the launcher says that the job failed" "$((rc != 0))" 1
    for file in "$PIDS"/*; do await is_over "$(cat "$file")" || kill -KILL "$(cat "$file")"; done # the launcher ends them
    run "$PP" ranks "$dir" --json
    is "$name: a rank is killed: ranks, missing" "$(ranks_of "$OUT" rank), $(json "$OUT" '$.missing_ranks')" "0 1 2 3, 0"
    # Under one exec all ranks end with the launcher: what is known is which one ended first.
    if [ "$name" = ray ]; then like "$name: a rank is killed: which one" "$(json "$OUT" '$.note')" "rank $rank ended first, .* before the next one"
    else like "$name: a rank is killed: which one" "$(json "$OUT" '$.note')" "killed before .*$rank"; fi
    for file in "$dir"/*.sqlite; do
        [ "$(sql "$file" 'PRAGMA integrity_check'):$(sql "$file" "SELECT count(*) >= 20 FROM v_span WHERE phase = 'step'")" = ok:1 ] || whole="$whole $file"
    done
    is "$name: a rank is killed: every file is whole and has its steps" "$whole" ""
    mkdir "$T/$name-left" && cp "$dir"/*.sqlite "$T/$name-left" && rm "$T/$name-left"/*rank000$rank.sqlite
    run "$PP" ranks "$T/$name-left" --json
    is "$name: its file is lost with its machine: it is missing by number" "$(ranks_of "$OUT" rank), missing $(json "$OUT" '$.missing')" "$(printf '%s\n' 0 1 2 3 | grep -vx "$rank" | paste -sd' '), missing $rank"
}
is_over() { ! kill -0 "$1" 2>/dev/null || [ "$(ps -o stat= -p "$1" | cut -c1)" = Z ]; }

RUN="--workers 1 --batch-size 4 --warmup 5"
"$MAKE_DATASET" "$T/shards" --n 960 --size 32x24 --tar 8 >/dev/null
"$MAKE_DATASET" "$T/images" --n 960 --size 32x24 >/dev/null

# with_run NAME LAUNCHER-IN-RECORDING LAUNCHER...: pipeprobe's own loader, its rank and world size those of the launcher.
with_run() {
    local name=$1 known=$2
    shift 2
    # shellcheck disable=SC2086
    run timeout 120 "$@" -n 4 sh "$T/run.sh" "$T/images" $RUN --sampler torch --seed 3 --epochs 1 --step-ms 25 --transform rrc:16 --quiet -o "$T/$name-run/"
    is "$name: pipeprobe run" "$rc" 0
    identified "$name: run" "$T/$name-run" "$known"
    audited "$name: run" "$T/$name-run"
    # shellcheck disable=SC2086
    run timeout 120 "$@" -n 4 sh "$T/run.sh" "$T/shards" $RUN --stream --epochs 1 --step-ms 25 --transform rrc:16 --quiet -o "$T/$name-shards/"
    is "$name: shards: each rank has its part of the samples" "$(for f in "$T/$name-shards"/*.sqlite; do sql "$f" "SELECT sum(samples) FROM v_span WHERE phase = 'data_wait'"; done | paste -sd' ')" "240 240 240 240"
}

# with_exec NAME LAUNCHER-IN-RECORDING LAUNCHER...: an unmodified PyTorch job.
with_exec() {
    local name=$1 known=$2
    shift 2
    if ! has_torch; then skip "$name: an unmodified PyTorch job" "$PYTHON has no torch, or the extension is not built"; return; fi
    run timeout 200 "$@" -n 4 "$PP" exec -q -o "$T/$name-exec/" -- "$PYTHON" "$HERE/tests/jobs/loads.py"
    is "$name: the job's own output" "$rc $(sort "$OUT" | grep '^rank')" "0 $(printf 'rank %d total 7140\n' 0 1 2 3)"
    identified "$name: exec" "$T/$name-exec" "$known"
}

all_of() { # NAME LAUNCHER-IN-RECORDING LAUNCHER...
    local name=$1
    with_run "$@"
    [ -n "$slice" ] || with_exec "$@" # any_launcher_has_one_exec.sh has it
    shift 2
    reduced "$name" "$T/$name-run" "$@"
    status_passes "$name" "$@" -n 2
    # shellcheck disable=SC2086
    killed "$name" "$T/$name-kill" 2 "$@" -n 4 sh "$T/rank.sh" "$PP" run --synthetic n=400000,size=32x24 $RUN --steps 100000 --step-ms 5 --quiet -o "$T/$name-kill/"
}

# ---- the rows ----

mpich() {
    local mpiexec
    mpiexec=$(command -v mpiexec.mpich)
    if [ -z "$mpiexec" ]; then skip "MPICH" "no mpiexec.mpich: the package mpich is not installed"; return; fi
    all_of mpich MPICH "$mpiexec"
}

openmpi() {
    local mpiexec
    mpiexec=$(command -v mpiexec.openmpi)
    if [ -n "$mpiexec" ]; then mpiexec=("$mpiexec")
    elif unpacked $PACKAGES; then
        mpiexec=(env OPAL_PREFIX="$DEBS/usr" PMIX_INSTALL_PREFIX="$DEBS/usr" LD_LIBRARY_PATH="$DEBS$LIBS:$DEBS$LIBS/openmpi/lib" "$DEBS/usr/bin/mpiexec.openmpi")
    else skip "Open MPI" "$why"; return; fi
    all_of openmpi "Open MPI" "${mpiexec[@]}" --oversubscribe --allow-run-as-root
}

# SLURM's daemons as this user, with a key, sockets and ports of their own: a cluster of one node, which says that it has four CPUs.
slurm_starts() {
    local at=$T/slurm bin=${1%/usr/sbin/slurmctld-wlm} host munged=munged plugins ports
    host=$(uname -n)
    host=${host%%.*}
    command -v munged >/dev/null || munged=$bin/usr/sbin/munged
    plugins=$bin$LIBS/slurm-wlm
    mkdir -p "$at/state" "$at/spool"
    head -c 1024 /dev/urandom >"$at/key" && chmod 400 "$at/key"
    ports=$("$PYTHON" -c 'import socket; s = [socket.socket() for _ in range(2)]; [x.bind(("", 0)) for x in s]; print(*[x.getsockname()[1] for x in s])')
    cat >"$at/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
SlurmctldPort=${ports% *}
SlurmdPort=${ports#* }
AuthType=auth/munge
AuthInfo=socket=$at/munge
CredType=cred/munge
PluginDir=$plugins
StateSaveLocation=$at/state
SlurmdSpoolDir=$at/spool
SlurmctldPidFile=$at/slurmctld.pid
SlurmdPidFile=$at/slurmd.pid
SlurmctldLogFile=$at/slurmctld.log
SlurmdLogFile=$at/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
SchedulerType=sched/builtin
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
KillWait=2
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=test Nodes=ALL Default=YES State=UP
END
    export SLURM_CONF=$at/slurm.conf
    "$munged" --foreground --force --key-file="$at/key" --socket="$at/munge" --pid-file="$at/munge.pid" --log-file="$at/munge.log" --seed-file="$at/seed" >"$at/munged" 2>&1 </dev/null &
    servers+=($!)
    await test -S "$at/munge"
    "$1" -D >"$at/ctld" 2>&1 </dev/null &
    servers+=($!)
    "${1%ctld-wlm}d-wlm" -D -d "${1%ctld-wlm}stepd-wlm" >"$at/d" 2>&1 </dev/null &
    servers+=($!)
    for _ in $(seq 300); do
        [ "$("$sinfo" -h -o %T 2>/dev/null)" = idle ] && return 0
        for pid in "${servers[@]: -3}"; do kill -0 "$pid" 2>/dev/null || break 2; done
        sleep 0.1
    done
    why="SLURM does not start here: $(grep -hiE 'fatal|error' "$at"/munged "$at"/munge.log "$at"/slurmctld.log "$at"/slurmd.log "$at"/ctld "$at"/d 2>/dev/null | head -n 1 | cut -c1-200)"
    return 1
}

slurm() {
    local slurmctld srun sinfo
    slurmctld=$(command -v slurmctld-wlm) srun=$(command -v srun) sinfo=$(command -v sinfo)
    if [ -z "$slurmctld" ]; then
        if ! unpacked $PACKAGES; then skip "SLURM" "$why"; return; fi
        slurmctld=$DEBS/usr/sbin/slurmctld-wlm srun=$DEBS/usr/bin/srun sinfo=$DEBS/usr/bin/sinfo
        export LD_LIBRARY_PATH=$DEBS$LIBS:$DEBS$LIBS/slurm-wlm
    fi
    if slurm_starts "$slurmctld"; then all_of slurm SLURM "$srun" -K; else skip "SLURM" "$why"; fi
    unset LD_LIBRARY_PATH SLURM_CONF
}

by_torchrun() { # NAME: with $PYTHON's
    local name=$1 run old=()
    # torch 1.13 under Python 3.11 takes no "0" for these two options, and that is their default.
    "$PYTHON" -c 'import torch, sys; sys.exit(torch.__version__ < "2")' || old=(-r 1 -t 1)
    run=(timeout 250 "$PYTHON" -m torch.distributed.run --standalone "${old[@]}" --nproc_per_node 4)
    run "${run[@]}" --no_python "$PP" exec -q -o "$T/$name/" -- "$PYTHON" "$HERE/tests/jobs/ranks.py" --samples 120
    is "$name: the job's own output" "$rc $(grep -o 'rank [0-3] of 4 total.*' "$OUT" | sort)" "0 $(printf 'rank %d of 4 total %d\n' 0 28560 1 28680 2 28800 3 28920)"
    identified "$name" "$T/$name" torchrun
    audited "$name" "$T/$name"
    run timeout 250 "$PP" exec -q -o "$T/$name-above/" -- "${run[@]}" "$HERE/tests/jobs/ranks.py" --samples 60
    is "$name: one exec above it: exit status" "$rc" 0
    identified "$name: one exec above it" "$T/$name-above" torchrun
    status_passes "$name" "${run[@]}" --no_python
    killed "$name" "$T/$name-kill" 1 "${run[@]}" --no_python "$PP" exec -q -o "$T/$name-kill/" -- sh "$T/rank.sh" "$PYTHON" "$HERE/tests/jobs/ranks.py" --samples 40000
}

# Debian's, and PyPI's newest where `make test-frameworks` has made its environment or TORCH names an interpreter.
torchrun() {
    local newest=${TORCH:-$VENVS/newest/bin/python}
    if has_torch; then by_torchrun torchrun; else skip "torchrun" "$PYTHON has no torch, or the extension is not built"; fi
    if [ -x "$newest" ]; then PYTHON=$newest; else skip "PyPI's torchrun" "no $newest: make test-frameworks makes it; TORCH= names an interpreter"; return; fi
    if has_torch; then by_torchrun torchrun-PyPI; else skip "PyPI's torchrun" "$newest has no torch"; fi
    PYTHON=/usr/bin/python3
}

# Ranks on two machines, started by hand: all that they have is their number and a directory. The second host name is a namespace's.
directory() {
    local on=() rank pids=() hosts
    unshare --uts true 2>/dev/null && on=(unshare --uts sh -c 'hostname "node$((RANK / 2))"; exec "$@"' sh)
    for rank in 0 1 2 3; do
        # shellcheck disable=SC2086
        RANK=$rank WORLD_SIZE=4 LOCAL_RANK=$((rank % 2)) timeout 120 "${on[@]}" "$PP" run "$T/images" $RUN --sampler torch --epochs 1 --step-ms 25 --transform rrc:16 --quiet \
            -o "$T/directory/" >"$T/directory-$rank.out" 2>&1 </dev/null &
        pids+=($!)
    done
    wait "${pids[@]}"
    is "a shared directory: a file per rank" "$(ls "$T/directory" | paste -sd' ')" "rank0000.sqlite rank0001.sqlite rank0002.sqlite rank0003.sqlite"
    audited "a shared directory" "$T/directory"
    run "$PP" ranks "$T/directory" --json
    is "a shared directory: ranks, missing" "$(ranks_of "$OUT" rank), $(json "$OUT" '$.missing_ranks')" "0 1 2 3, 0"
    hosts=$(ranks_of "$OUT" host)
    if [ ${#on[@]} -gt 0 ]; then is "a shared directory: machines" "$hosts" "node0 node0 node1 node1"; else skip "a shared directory: machines" "no namespace for another host name"; fi
    for rank in 0 1; do "$PP" merge "$T"/directory/rank000$((2 * rank)).sqlite "$T"/directory/rank000$((2 * rank + 1)).sqlite -o "$T/directory-$rank.digest"; done
    "$PP" merge "$T/directory" -o "$T/directory-once.digest"
    run "$PP" merge "$T/directory-1.digest" "$T/directory-0.digest" -o "$T/directory.digest"
    check "a shared directory: a digest per machine, merged by a loop" cmp "$T/directory.digest" "$T/directory-once.digest"
}

# Ray Train: PyPI's ray beside $PYTHON's torch. Its workers are started before they are ranks.
# Two pods of Kubeflow's Trainer, which tells torchrun by variables alone; a directory that both have mounted.
kubernetes() {
    local port old=() pod pids=() codes=
    if ! has_torch; then skip "Kubernetes" "$PYTHON has no torch, or the extension is not built"; return; fi
    "$PYTHON" -c 'import torch, sys; sys.exit(torch.__version__ < "2")' || old=(-r 1 -t 1)
    port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
    for pod in 0 1; do
        PET_RDZV_ID=pods PET_NNODES=2 PET_NODE_RANK=$pod PET_NPROC_PER_NODE=2 PET_MASTER_ADDR=127.0.0.1 PET_MASTER_PORT=$port timeout 250 \
            "$PP" exec -q -o "$T/pods/" -- "$PYTHON" -m torch.distributed.run "${old[@]}" "$HERE/tests/jobs/ranks.py" --samples 60 >"$T/pod-$pod.out" 2>&1 </dev/null &
        pids+=($!)
    done
    for pod in 0 1; do wait "${pids[pod]}"; codes="$codes$? "; done
    is "kubernetes: both pods: exit status, ranks that ended" "$codes$(cat "$T"/pod-?.out | grep -c 'rank [0-3] of 4 total')" "0 0 4"
    LOCAL="0 1 0 1" identified kubernetes "$T/pods" torchrun
    is "kubernetes: the ranks know their pods" "$(ranks_of "$OUT" node)" "0 0 1 1"
    audited kubernetes "$T/pods"
    # A pod of an Indexed Job has a number and no launcher.
    # shellcheck disable=SC2016
    run env JOB_COMPLETION_INDEX=3 sh -c 'RANK=$JOB_COMPLETION_INDEX WORLD_SIZE=4 exec "$PP" exec -q -o "$0" -- "$PYTHON" "$1"' "$T/indexed/" "$HERE/tests/jobs/loads.py"
    is "kubernetes: a pod of an Indexed Job" "$rc $(grep -c 'rank 3 total 7140' "$OUT") $(ls "$T/indexed" | sed 's/.*rank/rank/')" "0 1 rank0003.sqlite"
}

# Its own launcher, which starts torch's agent for several processes.
accelerate() {
    local with=${TORCH:-$VENVS/newest/bin/python} port
    if ! "$with" -c 'import accelerate' 2>/dev/null; then skip "accelerate" "$with has no accelerate: make test-frameworks makes its environment; TORCH= names an interpreter"; return; fi
    PYTHON=$with
    if has_torch; then
        port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
        run timeout 250 "$PYTHON" -m accelerate.commands.launch --multi_gpu --num_processes 4 --num_machines 1 --main_process_port "$port" --mixed_precision no --dynamo_backend no --no_python \
            "$PP" exec -q -o "$T/accelerate/" -- "$PYTHON" "$HERE/tests/jobs/ranks.py" --samples 120
        is "accelerate: the job's own output" "$rc $(grep -o 'rank [0-3] of 4 total.*' "$OUT" | sort)" "0 $(printf 'rank %d of 4 total %d\n' 0 28560 1 28680 2 28800 3 28920)"
        identified accelerate "$T/accelerate" accelerate
        audited accelerate "$T/accelerate"
    else skip "accelerate" "$with has no torch"; fi
    PYTHON=/usr/bin/python3
}

ray_job() { timeout 250 "$PYTHON" "$HERE/tests/jobs/ray_ranks.py" "$T/r" "$@"; }
ray() {
    local dir=$VENVS/ray plain beside=()
    if ! has_torch; then skip "Ray" "$PYTHON has no torch, or the extension is not built"; return; fi
    if [ ! -e "$dir/complete" ]; then
        rm -rf "$dir"
        # A torch that was built for numpy 1 cannot use arrays of numpy 2.
        "$PYTHON" -c 'import numpy, sys; sys.exit(numpy.__version__ < "2")' || beside=("numpy<2" "pyarrow<20")
        if ! timeout 600 python3 -m pip --python "$PYTHON" install -q --retries 1 --target "$dir" 'ray[train]' "${beside[@]}" >"$T/pip" 2>&1; then
            rm -rf "$dir"
            skip "Ray" "pip: $(tail -n 1 "$T/pip" | cut -c1-150)"
            return
        fi
        touch "$dir/complete"
    fi
    export PYTHONPATH=$dir RAY_USAGE_STATS_ENABLED=0 RAY_DEDUP_LOGS=0
    run ray_job
    is "ray: the job without pipeprobe" "$rc $(grep -o 'rank [0-3] of 4 total.*' "$OUT" | sort)" "0 $(printf 'rank %d of 4 total %d\n' 0 28560 1 28680 2 28800 3 28920)"
    if [ "$rc" != 0 ]; then unset PYTHONPATH; return; fi
    run "$PP" exec -q -o "$T/ray/" -- "$PYTHON" "$HERE/tests/jobs/ray_ranks.py" "$T/r"
    is "ray: one exec in front of the job: its own output" "$rc $(grep -o 'rank [0-3] of 4 total.*' "$OUT" | sort)" "0 $(printf 'rank %d of 4 total %d\n' 0 28560 1 28680 2 28800 3 28920)"
    identified "ray" "$T/ray" Ray
    audited "ray" "$T/ray"
    PATH=$HERE/$BUILD:$PATH PYTHONPATH=$HERE/collectors/attach/package:$dir run ray_job --record "$T/ray-record/"
    is "ray: pipeprobe.record in the training function: exit status" "$rc" 0
    identified "ray: record" "$T/ray-record" Ray
    audited "ray: record" "$T/ray-record"
    run ray_job --fail
    plain=$rc
    run "$PP" exec -q -o "$T/ray-fail/" -- "$PYTHON" "$HERE/tests/jobs/ray_ranks.py" "$T/r" --fail
    is "ray: exit status of a job that fails" "$rc, not 0: $((rc != 0))" "$plain, not 0: 1"
    killed ray "$T/ray-kill" 3 "$PP" exec -q -o "$T/ray-kill/" -- "$PYTHON" "$HERE/tests/jobs/ray_ranks.py" "$T/r" --pids "$PIDS" --samples 40000
    run ray_job --merge "$T/ray" "$T/ray-tree.digest"
    "$PP" merge "$T/ray" -o "$T/ray-once.digest"
    check "ray: a tree of tasks merges to the bytes of one merge" cmp "$T/ray-tree.digest" "$T/ray-once.digest"
    unset PYTHONPATH
}

rows="directory mpich openmpi slurm torchrun kubernetes accelerate ray"
[ -z "$slice" ] || rows="directory mpich openmpi"
for row in $rows; do ! grep -Eq -- "$ONLY" <<<"$row" || $row; done
[ "$tests" -gt 0 ] || skip_all "ONLY=$ONLY names none of: $rows"
done_testing

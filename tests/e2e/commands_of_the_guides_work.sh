#!/bin/bash
# Every command of README and of the guides: its options are those of the program, and it runs, on small data, a small PyTorch job and kept recordings. What
# cannot run in a test is in a list with the reason. What starts a job runs first: the commands that read share its recordings.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
ROOT=$PWD no_job=
[ -e "$BUILD/python/attach/_pipeprobe.abi3.so" ] && imports "${PYTHON:-/usr/bin/python3}" torch || no_job="no extension or no torch"

# ---- the commands, without their comments; a line that ends in a backslash goes on ----
sed -e ':a' -e '/\\$/{N;s/ *\\\n */ /;ba' -e '}' README.md docs/guide/*.md | grep -hE '^    (\$ )?pipeprobe [a-z-]+( |$)' | sed -E 's/^ *(\$ )?//; s/ {2,}#.*//; s/ +$//' | sort -u >"$T/commands"
check "there are commands" test "$(wc -l <"$T/commands")" -ge 80

# ---- options ----
wrong=
while read -r line; do
    read -r _ command _ <<<"$line"
    [ -e "$T/help.$command" ] || "$PP" "$command" --help-all >"$T/help.$command" 2>&1 || wrong="$wrong; no command $command"
    own=${line%% | *} own=${own%% > *} own=$(sed "s/'[^']*'/X/g" <<<"$own") own=${own%% -- *}
    for option in $(grep -oE '(^| )--[a-z][a-z0-9-]*' <<<"$own"); do
        grep -qE -- "--(\[no-\])?${option#--}([^a-z0-9-]|$)|--no-${option#--no-}([^a-z0-9-]|$)" "$T/help.$command" || wrong="$wrong; $line: $option"
    done
done <"$T/commands"
is "each option is one of its command" "$wrong" ""

# ---- what is not run, and why ----
not_run() {
    cat <<'N'
^pipeprobe attach @ a job that runs: attach_enters_a_running_job.sh, attach_looks_from_outside.sh
^pipeprobe (tune|verify|resume-test) @ many runs of a job: tune_proves_a_fix.sh, verify_proves_a_change.sh, less_work_is_no_fix.sh, resumed_jobs_are_tested.sh
^pipeprobe exec .*--tune @ a job of minutes: tune_in_the_running_job.sh
^pipeprobe exec .*ray_train @ Ray
^pipeprobe exec --map @ a program of somebody's
/var/lib/node_exporter @ a directory of another program
^pipeprobe (exec|run) .*(pytorch|--prove) @ many runs, or imports that outlast the test's time: pytorch_stands_beside.sh, prove_measures_the_fix.sh
(s3|https?|file)://?[a-z/] @ a server, or data outside the test
--device cuda @ a GPU
tokens.bin @ a file of tokens that the guide made before
'shards/shard- @ shards that the guide made before
--resume state @ a state that is of another data set by then: resume_repeats_no_sample.sh
/mnt/nfs @ a mount
^pipeprobe run /data @ a directory outside the test
^pipeprobe top @ a terminal: every_top_key_works.sh
^pipeprobe (ranks|merge) @ a job of ranks: ranks_of_a_pytorch_job_are_compared.sh
^pipeprobe (history|ci|compare) @ sets of runs: ci_judges_repeated_runs.sh, compare_finds_the_slowdown.sh
^pipeprobe export job/ @ recordings of ranks
^pipeprobe export pipeprobe-JOB @ recordings of ranks
^pipeprobe metrics @ a server, or until the run ends
^pipeprobe import (dftracer/|profiles/|train.pt) @ traces of other profilers
^pipeprobe report train.pt @ a trace of another profiler
flamegraph.pl @ another program
jq -r @ another program
nvjpeg @ a GPU's rates
--nvjpeg @ a GPU
op=Blur @ an operation of somebody's job
--loader val_loader @ a job of two loaders
cache-bytes @ a remote storage
shards/ @ shards that the guide made before
N
}
not_run | sed 's/ @ .*//' >"$T/not_run"
is "each pattern of the list is needed" "$(while read -r p; do grep -qE -- "$p" "$T/commands" || echo "$p"; done <"$T/not_run")" ""

# ---- the others ----
mkdir -p "$T/here/imagenet" "$T/here/runs" "$T/bin" && cd "$T/here" || exit 1
"$MAKE_DATASET" imagenet/train --n 200 --classes 4 --size 64x48 >/dev/null
for name in run job train; do cp "$ROOT/tests/recordings/train.sqlite" $name.sqlite; done
ln -s "$PP" "$T/bin/pipeprobe"
for name in python python3; do ln -s "${PYTHON:-/usr/bin/python3}" "$T/bin/$name"; done
ln -s imagenet/train images && ln -s imagenet/train DATA && ln -s imagenet/train val
cat >train.py <<'PY'
import time

from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 240

    def __getitem__(self, i):
        time.sleep(0.004)
        return i


if __name__ == "__main__":
    for batch in DataLoader(Rows(), batch_size=8, num_workers=1):
        time.sleep(0.002)
PY
export PATH=$T/bin:$PATH HOME=$T/here PIPEPROBE_DURATION=2s PIPEPROBE_FORCE=1
{ grep -E '^pipeprobe (exec|run|pack)' "$T/commands"; grep -vE '^pipeprobe (exec|run|pack)' "$T/commands"; } >"$T/in_order"
n=0
while read -r line; do
    grep -qEf "$T/not_run" <<<"$line" && continue
    case $line in "pipeprobe exec"* | "pipeprobe patch"*) [ -z "$no_job" ] || { skip "$line" "$no_job"; continue; } ;; esac
    line=${line%|} # whose other side is in the next line
    timeout 60 bash -c "set -o pipefail; $line" >"$OUT" 2>"$ERR" </dev/null
    rc=$?
    echo "$line" >"$T/command"
    n=$((n + 1))
    case $rc in 0 | 3 | 141) pass "$line" ;; *) fail "$line: exit code $rc" < <(last_run) ;; esac
    rm -rf ./*.html ./*.trace.json
done <"$T/in_order"
holds "most were run" "$n >= 50 || length(\"$no_job\") && $n >= 35"
done_testing

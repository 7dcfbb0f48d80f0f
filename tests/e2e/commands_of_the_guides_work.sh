#!/bin/bash
# Every command of README and of the guides: its options are those of the program, and it runs, on small data and a kept recording. What cannot run in a
# test is in a list with the reason.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
ROOT=$PWD

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
^pipeprobe (exec|attach|tune|ci|run|verify|patch|resume-test) @ starts jobs or changes their code: tests of their own
^pipeprobe (top|merge|pack|selftest) @ a terminal, ranks or files of its own: tests of their own
^pipeprobe (ranks|history|compare) @ a job of ranks or sets of runs: tests of their own
^pipeprobe export job/ @ recordings of ranks
^pipeprobe export pipeprobe-JOB @ recordings of ranks
^pipeprobe metrics @ a server, or until the run ends
^pipeprobe import (dftracer/|profiles/|train.pt) @ traces of other profilers
^pipeprobe report train.pt @ a trace of another profiler
http:// @ a server
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
export PATH=$T/bin:$PATH HOME=$T/here
n=0
while read -r line; do
    grep -qEf "$T/not_run" <<<"$line" && continue
    n=$((n + 1))
    line=${line%|} # whose other side is in the next line
    timeout 60 bash -c "set -o pipefail; $line" >"$OUT" 2>"$ERR" </dev/null
    rc=$?
    echo "$line" >"$T/command"
    case $rc in 0 | 3 | 141) pass "$line" ;; *) fail "$line: exit code $rc" < <(last_run) ;; esac
    rm -rf ./*.html ./*.trace.json
done <"$T/commands"
holds "most that read were run" "$n >= 20"
done_testing

#!/bin/bash
# once
# The whole program under AddressSanitizer + UBSan and under ThreadSanitizer, on every kind of data set, damaged files and a Ctrl-C included.
. "$(dirname "$0")/../lib.sh"
. tests/tmux.sh
need_pipeprobe
last_run() { echo "command: $(cat "$T/command")"; echo "exit code $rc"; head -n 20 "$OUT"; echo "stderr:"; head -n 20 "$ERR"; }

"$MAKE_DATASET" "$T/images" --n 48 --size 120x100 --odd --classes 4 >/dev/null
"$MAKE_DATASET" "$T/shards" --n 48 --size 120x100 --tar 3 >/dev/null
"$MAKE_DATASET" --tokens "$T/tokens.npy" --n 100000
shards="$T/shards/shard-{000000..000002}.tar"

# Thread sanitizer maps its shadow at fixed addresses, see tests/run.sh.
plain_layout=
setarch "$(uname -m)" -R true 2>/dev/null && plain_layout="setarch $(uname -m) -R"

clean() { # NAME CODES ARGUMENTS...
    local name=$1 codes=$2
    shift 2
    # shellcheck disable=SC2086
    run timeout --preserve-status ${stop:--k 5 120} $prefix "$binary" "$@"
    if ! grep -qw -- "$rc" <<<"$codes"; then fail "$name: exit code $rc" < <(last_run)
    elif grep -qE 'Sanitizer|runtime error' "$ERR"; then fail "$name: a report" < <(grep -E -A 25 'Sanitizer|runtime error' "$ERR")
    else pass "$name"; fi
}

for variant in address-undefined thread; do
    binary=$PWD/build/$variant/pipeprobe prefix=
    [ $variant = thread ] && prefix=$plain_layout
    need_built "SAN=${variant/-/,} all" "$binary"
    common="--workers 3 --batch-size 8 --quiet --force -o $T/run.sqlite"
    # shellcheck disable=SC2086
    {
        clean "$variant: folder with damaged files" "0 3" run "$T/images" $common --epochs 2 --step-ms 1
        clean "$variant: substitutes, out of order" "0 3" run "$T/images" $common --epochs 1 --on-error substitute --out-of-order
        clean "$variant: fails on the first error" "2 4" run "$T/images" $common --on-error fail --sampler sequential
        clean "$variant: shards" "0 3" run "$shards" $common --epochs 2
        clean "$variant: shards, streaming" "0 3" run "$shards" $common --epochs 2 --stream --shuffle-buffer 10
        clean "$variant: tokens" "0 3" run "$T/tokens.npy" $common --steps 30 --pageable
        clean "$variant: synthetic" "0 3" run --synthetic n=100,read=1ms $common --steps 20 --sync-every-step
        with_fakes="env LD_LIBRARY_PATH=$PWD/$BUILD/tests/fake"
        prefix="$prefix $with_fakes" clean "$variant: fake device, normalising" "0 3" run --synthetic n=100 $common --steps 20 --step cuda:1ms --wire u8
        prefix="$prefix $with_fakes PP_FAKE_CUDA=fail=cuLaunchKernel:30:719" clean "$variant: fake device, lost" "4" run --synthetic n=100 $common --steps 60 --step cuda:1ms
        prefix="$prefix $with_fakes PP_FAKE_CUPTI=small=1" clean "$variant: fake device, records dropped" "0 3" run --synthetic n=100 $common --steps 60 --step cuda:1ms --pageable --h2d sync
        clean "$variant: report of it" "0 3" report "$T/run.sqlite"
        clean "$variant: export of it" "0" export "$T/run.sqlite" --to nsys --force -o "$T/out.sqlite"
        rm -f "$T/timeless.sqlite" && sql "$T/run.sqlite" "VACUUM INTO '$T/timeless.sqlite'" && sqlite3 "$T/timeless.sqlite" "DELETE FROM meta WHERE key = 'started_utc_ns'"
        clean "$variant: history of a run that does not say when it began" "0" export "$T/timeless.sqlite" --force -o "$T/out.om"
        clean "$variant: not recorded" "0" run "$T/images" --workers 3 --batch-size 8 --quiet --no-record --epochs 1
        clean "$variant: report" "0 3" report "$T/run.sqlite"
        clean "$variant: report as JSON" "0 3" report --json "$T/run.sqlite"
        clean "$variant: no such path" "2" run "$T/nowhere" $common
        stop="-s INT 3" clean "$variant: interrupted" "130" run "$T/images" $common --duration 60 --step-ms 5
    }
    # The dashboard beside the run that it shows, in a terminal: the threads of both.
    if command -v tmux >/dev/null; then
        log=log_path=$T/top-reports
        tm new-session -d -s top -x 100 -y 30 "env TSAN_OPTIONS=${TSAN_OPTIONS:-}:$log ASAN_OPTIONS=${ASAN_OPTIONS:-}:$log UBSAN_OPTIONS=${UBSAN_OPTIONS:-}:$log $prefix $binary run $T/images $common --duration 5 --step-ms 5 --top; echo code \$?; sleep 60"
        wait_for "$variant: run --top shows its run" '(LIVE|ENDED finished) 0:' 60
        for key in w b e i W '+' o '[' f; do type "$key"; done
        wait_for "$variant: run --top to its end" 'ENDED finished' 60
        type q
        wait_for "$variant: run --top ends" '^code [03]' 60
        tm kill-server
        is "$variant: run --top: no report" "$(cat "$T"/top-reports* 2>/dev/null | head -n 20)" ""
    else
        skip "$variant: run --top" "tmux is not installed"
    fi
done
done_testing

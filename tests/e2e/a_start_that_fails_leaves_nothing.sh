#!/bin/bash
# A run whose threads cannot be started, whichever of them is the first that cannot: one sentence, the exit code of a failed start, and no file and no directory of a run that never began.
# Under exec the program runs all the same, unrecorded: a sentence before and one at the end.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
PRELOAD=$PWD/$BUILD/tests/tools/libfail_thread.so
need_built helpers "$PRELOAD"
[[ $BUILD == */release ]] || skip_all "a sanitizer's own library has to come before one that is preloaded"
CLIENT=$PWD/$BUILD/tests/tools/nvtx_client

# Until one start has all the threads it asks for.
each_thread() { # NAME CODE SENTENCES WORDS...: sets $refused
    local name=$1 code=$2 sentences=$3 n left
    shift 3
    refused=0
    for n in $(seq 1 20); do
        mkdir "$T/here"
        run timeout 60 env FAIL_THREAD="$n" FAIL_THREAD_IN=pipeprobe LD_PRELOAD="$PRELOAD" "$PP" "$@"
        left=$(ls -A "$T/here")
        if [ -e "$T/here/r.sqlite" ] && [ "$(sql "$T/here/r.sqlite" "SELECT count(*) FROM meta WHERE section = 'run' AND key = 'outcome'")" = 1 ] && ! grep -qi 'cannot start\|failed' "$ERR"; then
            is "$name: with $((n - 1)) threads it begins, and leaves one file" "$left" r.sqlite
            rm -r "$T/here"
            return
        fi
        refused=$((refused + 1))
        if [ "$rc" -ne "$code" ] || [ -n "$left" ] || [ "$(grep -c 'Resource temporarily unavailable' "$ERR")" -ne "$sentences" ]; then
            fail "$name: thread $n cannot be started" < <(echo "left: $left"; last_run)
            rm -r "$T/here"
            return
        fi
        pass "$name: thread $n cannot be started: said, and nothing is left"
        rm -r "$T/here"
    done
    fail "$name: it begins at last" < <(last_run)
}

each_thread "run" 4 1 run --synthetic n=64,size=32x32 --workers 3 --batch-size 8 --steps 3 --quiet -o "$T/here/r.sqlite"
holds "run: the drain, the lanes and the workers were each refused" "$refused >= 5"
each_thread "run with a ballast" 4 1 run --synthetic n=64,size=32x32 --workers 1 --cpu-ballast 1 --batch-size 8 --steps 3 --quiet -o "$T/here/r.sqlite"
holds "run with a ballast: each was refused" "$refused >= 4"
each_thread "exec" 0 2 exec --quiet -o "$T/here/r.sqlite" -- "$CLIENT" push=10
holds "exec: the drain was refused" "$refused >= 1"
done_testing

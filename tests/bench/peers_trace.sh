#!/bin/bash
# tests/bench/peers_trace.sh: what a span costs with what a user would use instead, on this machine, now: NVTX without a tool, NVTX under nsys,
# LTTng-UST. Each is built and run from a few lines here; one that is not installed is left out by name.
set -u
cd "$(dirname "$0")/../.." || exit 1
W=build/bench/peers
CC=${CC:-cc}
mkdir -p $W

printf '\nthe same span with other tools\n'
out() { printf '%-34s left out: %s\n' "$1" "$2"; }

clock='#include <stdio.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec * 1e9 + (double)t.tv_nsec; }
#define RUN(label, n, begin, end) do { double best = 1e18; for (int r = 0; r < 5; r++) { double t = now(); for (long i = 0; i < (n); i++) { begin; end; } \
    t = (now() - t) / (n); if (t < best) best = t; } printf("%-34s %8.2f ns/span\n", label, best); } while (0)'

nvtx=
for dir in /usr/include /usr/local/include /usr/local/cuda/include /usr/local/cuda-*/include /usr/lib/x86_64-linux-gnu/nsight-systems/target-linux-x64/nvtx/include; do
    [ -e "$dir/nvtx3/nvToolsExt.h" ] && nvtx=$dir && break
done
if [ -z "$nvtx" ]; then
    out "NVTX alone" "no nvtx3/nvToolsExt.h"
    out "NVTX under nsys" "no nvtx3/nvToolsExt.h"
else
    printf '%s\n#include <nvtx3/nvToolsExt.h>\nint main(int argc, char **argv) { long n = argc > 1 ? 200000 : 20000000;\nRUN(argc > 1 ? argv[1] : "NVTX alone", n, nvtxRangePushA("decode"), nvtxRangePop()); return argv == 0; }\n' "$clock" >$W/nvtx.c
    if $CC -O2 -isystem "$nvtx" -o $W/nvtx $W/nvtx.c -ldl 2>$W/log; then
        $W/nvtx
        if command -v nsys >/dev/null; then
            (cd $W && timeout 120 nsys profile --trace=nvtx --sample=none --cpuctxsw=none --force-overwrite=true -o nsys ./nvtx "NVTX under nsys" 2>/dev/null) | grep "ns/span" || out "NVTX under nsys" "nsys did not run it"
        else
            out "NVTX under nsys" "nsys is not installed (nsight-systems, non-free)"
        fi
    else
        out "NVTX alone" "it does not compile: $(head -n 1 $W/log)"
    fi
fi

if ! command -v lttng >/dev/null || ! [ -e /usr/include/lttng/tracepoint.h -o -e /usr/include/x86_64-linux-gnu/lttng/tracepoint.h ]; then
    out "LTTng-UST" "lttng-tools and liblttng-ust-dev are not installed"
else
    cat >$W/span_tp.h <<'TP'
#undef TRACEPOINT_PROVIDER
#define TRACEPOINT_PROVIDER pipe
#undef TRACEPOINT_INCLUDE
#define TRACEPOINT_INCLUDE "./span_tp.h"
#if !defined(SPAN_TP_H) || defined(TRACEPOINT_HEADER_MULTI_READ)
#define SPAN_TP_H
#include <lttng/tracepoint.h>
TRACEPOINT_EVENT(pipe, begin, TP_ARGS(int, batch), TP_FIELDS(ctf_integer(int, batch, batch)))
TRACEPOINT_EVENT(pipe, end, TP_ARGS(int, batch), TP_FIELDS(ctf_integer(int, batch, batch)))
#endif
#include <lttng/tracepoint-event.h>
TP
    printf '%s\n#define TRACEPOINT_CREATE_PROBES\n#define TRACEPOINT_DEFINE\n#include "span_tp.h"\nint main(void) { RUN("LTTng-UST", 1000000L, tracepoint(pipe, begin, (int)i), tracepoint(pipe, end, (int)i)); return 0; }\n' "$clock" >$W/lttng.c
    if $CC -O2 -I$W -o $W/lttng $W/lttng.c -llttng-ust -ldl 2>$W/log; then
        export LTTNG_HOME=$PWD/$W
        rm -rf $W/lttng-trace
        # A daemon of our own where none runs; it ends with us.
        daemon=
        pgrep -x lttng-sessiond >/dev/null || { lttng-sessiond --background --no-kernel --pidfile="$PWD/$W/lttng.pid" >/dev/null 2>&1 && daemon=$W/lttng.pid; }
        lttng --no-sessiond create pp-bench --output="$PWD/$W/lttng-trace" >$W/log 2>&1 && lttng enable-channel -u --subbuf-size=4M --num-subbuf=8 pp >>$W/log 2>&1 \
            && lttng enable-event -u -c pp 'pipe:*' >>$W/log 2>&1 && lttng start >>$W/log 2>&1 && $W/lttng || out "LTTng-UST" "no session could be started: $(tail -n 1 $W/log)"
        lttng stop pp-bench >/dev/null 2>&1
        lost=$(lttng destroy pp-bench 2>&1 | grep -io '[0-9]* events were \(discarded\|lost\)' | head -n 1)
        [ -z "$lost" ] || printf '%-34s %s\n' "" "of which $lost"
        [ -z "$daemon" ] || kill "$(cat $daemon)"
    else
        out "LTTng-UST" "it does not compile: $(head -n 1 $W/log)"
    fi
fi

#!/bin/bash
# tests/gpu_check.sh [BINARY]: what a GPU is needed for, measured and looked at, in one table; under 8 minutes. BINARY may be `make portable`'s, or that of
# `make gpu-check-kit`, carried to a machine that has a driver and nothing else of ours (sqlite3 or python3 reads the recordings). KEEP=DIR keeps the recordings. Exit code 77 without a usable device.
set -u
PP=$(realpath "${1:-build/release/pipeprobe}") && [ -x "$PP" ] || { echo "gpu-check: ${1:-build/release/pipeprobe} is no program; make, or name one" >&2; exit 1; }
HERE=$(dirname "$(realpath "$0")")
if [ -n "${KEEP:-}" ]; then mkdir -p "$KEEP" && T=$(realpath "$KEEP") || exit 1; else T=$(mktemp -d) && trap 'rm -rf "$T"' EXIT || exit 1; fi
BESIDE=$(dirname "$PP")
beside() { LD_LIBRARY_PATH="$BESIDE/libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"; } # our other programs, whose libraries the kit brings
failures=0

if command -v sqlite3 >/dev/null; then sql() { sqlite3 -batch -noheader "$1" "$2"; }
elif command -v python3 >/dev/null; then
    sql() { python3 -c 'import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]): print("|".join("" if v is None else str(v) for v in row))' "$1" "$2"; }
else echo "gpu-check needs sqlite3 or python3 to read the recordings"; exit 77; fi

for f in "$BESIDE"/libs/libnvjpeg.so*; do [ -e "$f" ] && export PIPEPROBE_NVJPEG_LIB=${PIPEPROBE_NVJPEG_LIB:-$f}; done
timeout 120 "$PP" doctor --nvjpeg >"$T/doctor" 2>&1
if ! grep -Eq '^yes +CUDA driver' "$T/doctor"; then
    echo "no usable CUDA device:"
    grep -A3 'CUDA driver' "$T/doctor"
    exit 77
fi

result() { # NAME VALUE WANT HOLDS(0|1|-)
    local word=seen
    case $4 in 1) word=ok ;; 0) word=MISSED failures=$((failures + 1)) ;; esac
    printf '%-44s %-26s %-24s %s\n' "$1" "$2" "$3" "$word"
}
holds() { awk "BEGIN { print ($1) ? 1 : 0 }" 2>/dev/null || echo 0; }

# Small synthetic images cost little to make, so that the device and not the decoder is looked at.
scenario() { # NAME ARGUMENTS...: a run recorded as $T/NAME.sqlite
    local name=$1
    shift
    timeout 60 "$PP" run --synthetic n=20000,size=64x64 --transform rrc:64,normalize=imagenet --device cuda --batch-size 64 --duration "${SECONDS_EACH:-6}" --json --quiet --force -o "$T/$name.sqlite" "$@" >"$T/$name.json" 2>"$T/$name.err"
    ended "$name" $?
}
# Windows of a token file in the page cache, 2 MiB each: a loader gives more of them than a link takes.
head -c 256M /dev/zero >"$T/tokens.bin"
tokens() { # NAME ARGUMENTS...: likewise
    local name=$1
    shift
    timeout 60 "$PP" run "$T/tokens.bin" --window 1048576 --device cuda --workers 8 --prefetch 1 --batch-size 8 --duration "${SECONDS_EACH:-6}" --json --quiet --force -o "$T/$name.sqlite" "$@" >"$T/$name.json" 2>"$T/$name.err"
    ended "$name" $?
}
# Images as large as photographs in a data set, decoded here or there, beside a step that needs the multiprocessors.
photos() { # NAME ARGUMENTS...: likewise
    local name=$1
    shift
    timeout 60 "$PP" run --synthetic n=20000,size=500x375,unique=32 --transform rrc:224,hflip,normalize=imagenet --device cuda --batch-size "${PHOTOS:-64}" --step cuda-work:5ms --workers "$(nproc)" --duration "${SECONDS_EACH:-6}" --json --quiet --force -o "$T/$name.sqlite" "$@" >"$T/$name.json" 2>"$T/$name.err"
    ended "$name" $?
}
ended() { # NAME EXIT-CODE
    [ "$2" -eq 0 ] || [ "$2" -eq 3 ] || { result "$1" "exit code $2" "0" 0; sed 's/^/  /' "$T/$1.err"; return 1; }
}
refused() { # NAME REGEX COMMAND...: exit code 4 and one sentence
    local name=$1 regex=$2
    shift 2
    "$@" >"$T/refused" 2>&1
    local rc=$?
    result "$name" "exit code $rc" "4, and why" "$([ $rc -eq 4 ] && grep -Eq "$regex" "$T/refused" && echo 1 || echo 0)"
}
known() { awk -v v="$1" -v holds="$2" 'BEGIN { print v == "" ? "-" : holds }'; } # a goal that rests on a number that is not there is none
batches() { sed -n '/"window": {/,/}/s/^ *"batches": *\([0-9]*\).*/\1/p' "$T/$1.json" | head -n 1; }
rate() { sed -n 's/^ *"samples_per_s": *\([0-9.eE+]*\),*$/\1/p' "$T/$1.json" | head -n 1; }
wait_share() { sed -n 's/^ *"data_wait_share": *\([0-9.eE+-]*\),*$/\1/p' "$T/$1.json" | head -n 1; }
verdict() { tr -d ' \n' <"$T/$1.json" | grep -o '"verdict":{[^}]*' | grep -Eo '"l[012]":("[^"]*"|null)' | cut -d: -f2 | tr -d '"' | paste -sd/ -; }
gpu() { sql "$T/$1.sqlite" "$2"; }
copy_gbps() { gpu "$1" "SELECT round(sum(bytes) * 1.0 / sum(dur_ns), 2) FROM gpu WHERE kind = 'memcpy'"; }
# Of the time in which batches are copied, the part in which a step's kernel runs as well.
overlap() {
    gpu "$1" "WITH k AS MATERIALIZED (SELECT start_ns AS s, start_ns + dur_ns AS e FROM gpu WHERE kind = 'kernel'),
        m AS MATERIALIZED (SELECT start_ns AS s, start_ns + dur_ns AS e FROM gpu WHERE kind = 'memcpy' ORDER BY start_ns LIMIT 300 OFFSET 20)
        SELECT round(100.0 * (SELECT sum(min(k.e, m.e) - max(k.s, m.s)) FROM m JOIN k ON k.s < m.e AND k.e > m.s) / (SELECT sum(e - s) FROM m), 1)"
}

echo "pipeprobe gpu-check, $(date -u +%Y-%m-%d), $(uname -n)"
grep -A3 -E 'CUDA driver|CUPTI|NVML' "$T/doctor" | grep -E '^(yes|no)'
sed -n '/^Copies to the GPU/,$p' "$T/doctor"
printf '\n%-44s %-26s %-24s\n' what measured wanted

if scenario pinned --step-ms 5; then
    meta() { gpu pinned "SELECT value FROM meta WHERE section = 'gpu' AND key = '$1'"; }
    result "CUPTI" "$(meta activity | cut -c1-26)" "recorded" "$(case $(meta activity) in CUPTI*) echo 1 ;; *) echo 0 ;; esac)"
    result "records / dropped" "$(meta records) / $(meta records_dropped)" "none dropped" "$(holds "$(meta records_dropped) == 0 && $(meta records) > 0")"
    result "clock error, ns" "$(meta clock_error_ns)" "<= 2000" "$(holds "$(meta clock_error_ns) <= 2000")"
    outside=$(gpu pinned "SELECT count(*) FROM v_gpu g JOIN v_span s ON s.batch = g.batch AND s.phase = iif(g.kind = 'kernel', 'step', 'h2d')
        WHERE g.kind IN ('kernel', 'memcpy') AND (g.start_ns < s.start_ns - 2000 OR g.start_ns + g.dur_ns > s.start_ns + s.dur_ns + 2000)")
    result "kernels and copies outside their spans" "$outside" "0 (by 2 us)" "$(holds "$outside == 0")"
    step=$(gpu pinned "SELECT round(avg(dur_ns) / 1e6, 3) FROM gpu WHERE kind = 'kernel'")
    result "a step of 5 ms, by the device, ms" "$step" "5 +- 2 %" "$(holds "$step > 4.9 && $step < 5.1")"
    # "PCIe 4 x16": 16e9 transfers/s in each of 16 lanes, 128 bits of every 130 are data
    link=$(gpu pinned "SELECT value FROM meta WHERE section = 'environment' AND key = 'gpu_link'" | awk '$1 == "PCIe" { lanes = substr($3, 2); printf "%.1f", 2 ^ ($2 - 1) * 2 * lanes * 128 / 130 / 8 }')
    result "copies from pinned memory, GB/s" "$(copy_gbps pinned)" "${link:+>= 75 % of $link}" "$(known "$link" "$(holds "$(copy_gbps pinned) >= 0.75 * ${link:-0}")")"
    fed=$(holds "$(wait_share pinned) < 0.05")
    result "copy time under a step, %" "$(overlap pinned)" ">= 90 where it is fed" "$([ "$fed" = 1 ] && holds "$(overlap pinned) >= 90" || echo -)"
    result "NVML utilisation, %" "$(gpu pinned "SELECT round(avg(value), 1) FROM counter WHERE name = 'gpu_utilization_percent'")" "" -
fi
scenario pageable --step-ms 5 --pageable && result "copies from pageable memory, GB/s" "$(copy_gbps pageable)" "slower than pinned" "$(holds "$(copy_gbps pageable) < $(copy_gbps pinned)")"
result "kernels that normalise, against the CPU" "$(sed -n 's/^yes *CUDA kernels *\([^:;,]*\).*/\1/p' "$T/doctor" | cut -c1-26)" "every value equal" "$(grep -Eq '^yes +CUDA kernels' "$T/doctor" && echo 1 || echo 0)"
if scenario wire --step-ms 5 --wire u8; then
    result "--wire u8: bytes copied, of f32's" "$(gpu wire "SELECT round(max(bytes) / (64 * 3 * 64 * 64 * 4.0), 3) FROM gpu WHERE kind = 'memcpy'")" "0.25" "$(gpu wire "SELECT max(bytes) = 64 * 3 * 64 * 64 FROM gpu WHERE kind = 'memcpy'")"
    result "--wire u8: normalising a batch, us" "$(gpu wire "SELECT round(avg(dur_ns) / 1e3, 1) FROM gpu WHERE name LIKE 'pp_normalize%'")" "" -
fi

# JPEG on the device: each back end alone, then beside a step. Engines are worth it where they are faster than all CPUs here, the others where faster than one.
jpeg() { awk -v row="$1" -v what="$2" '$1 == row { if ($2 == "not") print (what == "rates" ? "not measured" : ""); else if (what == "rates") print $2 " / " $3 " / " $4 " / " $5; else print $6; exit }' "$T/doctor"; }
off() { sed -n "s/^  $1 *mean \([0-9.]*\), largest \([0-9]*\)\$/\1 \2/p" "$T/doctor"; }
result "nvJPEG" "$(sed -n 's/^yes *nvJPEG *\([^:]*\).*/\1/p' "$T/doctor" | cut -c1-26)" "found" "$(grep -Eq '^yes +nvJPEG' "$T/doctor" && echo 1 || echo 0)"
cpu_rate=$(sed -n 's/^  one CPU thread *//p' "$T/doctor")
for backend in HARDWARE HARDWARE_DEVICE GPU_HYBRID HYBRID; do
    case $backend in HARDWARE*) threads=$(nproc) ;; *) threads=1 ;; esac
    most=$(jpeg $backend rates | tr -d ', ' | tr '/' '\n' | grep -E '^[0-9.]+$' | sort -g | tail -n 1)
    result "$backend images/s, batch 1/8/64/256" "$(jpeg $backend rates)" "> $threads CPU thread(s)" "$(known "$most" "$(holds "${most:-0} > $threads * $(tr -d , <<<"${cpu_rate:-0}")")")"
    result "$backend least time of a batch, ms" "$(jpeg $backend least)" "<= 5" "$(known "$(jpeg $backend least)" "$(holds "$(jpeg $backend least) <= 5")")"
done
result "one CPU thread, images/s" "$cpu_rate" "" -
for kind in 4:4:4 4:2:2 4:2:0 gray; do
    read -r mean most <<<"$(off $kind)"
    result "$kind pixels off, mean / largest, of 255" "${mean:-not decoded} / ${most:--}" "mean <= 1" "$([ -z "$mean" ] && echo - || holds "$mean <= 1")"
done
mean_step() { gpu "$1" "SELECT ifnull(avg(dur_ns), 0) FROM v_span WHERE phase = 'step'"; }
copied() { gpu "$1" "SELECT ifnull(sum(bytes) * 1.0 / sum(samples), 0) FROM v_span WHERE phase = 'h2d'"; }
percent() { awk "BEGIN { if ($2 > 0) printf \"%.1f\", 100 * ($1) / ($2) }"; }
photos c_cpu --decode cpu --step none && result "samples/s of a run, --decode cpu" "$(rate c_cpu | cut -d. -f1)" "" -
if photos d_cpu --decode cpu; then
    cpu_step=$(mean_step d_cpu) cpu_bytes=$(copied d_cpu)
    result "  beside a step of 5 ms" "$(rate d_cpu | cut -d. -f1)" "" -
    for backend in hardware gpu-hybrid hybrid; do
        case $backend$(jpeg HARDWARE rates) in hardwarenot*) continue ;; esac
        # Without a step, and beside one. A GPU without engines may be slower than all the CPUs of its machine.
        nvjpeg=(--decode nvjpeg --nvjpeg-backend $backend --copy-buffers 4)
        photos "c_$backend" "${nvjpeg[@]}" --step none && photos "d_$backend" "${nvjpeg[@]}" || continue
        case $backend in
        hardware) least=$(rate c_cpu) wanted=">= --decode cpu" ;;
        *) least=$(tr -d , <<<"$cpu_rate") wanted="> one CPU thread" ;;
        esac
        for run in c d; do # so few are a burst of what was ready
            [ "$(batches "${run}_$backend")" -ge 20 ] || { result "samples/s of a run, $backend" "$(batches "${run}_$backend") batches" "20 at least" - && continue 2; }
        done
        result "samples/s of a run, $backend" "$(rate "c_$backend" | cut -d. -f1)" "$wanted" "$(holds "$(rate "c_$backend") >= ${least:-0}")"
        stretch=$(percent "$(mean_step "d_$backend")" "$cpu_step")
        late=$(awk "BEGIN { printf \"%.1f\", 100 * $(wait_share "d_$backend") }")
        result "  beside a step of 5 ms" "$(rate "d_$backend" | cut -d. -f1)" "" -
        case $backend in
        hardware)
            result "  which waits for data, % of the time" "$late" "< 5" "$(holds "$late < 5")"
            result "  and takes, of --decode cpu's, %" "$stretch" "<= 105" "$(holds "$stretch <= 105")"
            ;;
        *) result "  which waits for data, % of the time" "$late" "" - && result "  and takes, of --decode cpu's, %" "$stretch" "" - ;;
        esac
        result "  bytes copied, of --decode cpu's, %" "$(percent "$(copied "d_$backend")" "$cpu_bytes")" "< 50" "$(holds "$(copied "d_$backend") < 0.5 * $cpu_bytes")"
    done
fi

# Files of every damage and kind among plain ones: each batch has on the GPU what it has on the CPU, but for what an engine's pixels are off by. The helper that
# writes them lies beside a binary that was built here.
mixed() { # NAME ARGUMENTS...: likewise
    local name=$1
    shift
    timeout 60 "$PP" run "$T/mixed" --transform rrc:224,hflip,normalize=imagenet --device cuda --batch-size 16 --epochs 1 --seed 5 --json --quiet --force -o "$T/$name.sqlite" "$@" >"$T/$name.json" 2>"$T/$name.err"
    ended "$name" $?
}
counts() { gpu "$1" "SELECT group_concat(value, ' / ') FROM (SELECT value FROM meta WHERE section = 'result' AND key IN ('samples', 'errors') ORDER BY key DESC)"; }
if [ -x "$BESIDE/samples/make_dataset" ] && beside "$BESIDE/samples/make_dataset" "$T/mixed" --n 200 --size 240x180 --odd >/dev/null && mixed m_cpu --decode cpu && mixed m_gpu --decode nvjpeg --copy-buffers 4; then
    result "mixed files: samples / errors" "$(counts m_gpu)" "$(counts m_cpu), as on the CPU" "$([ "$(counts m_gpu)" = "$(counts m_cpu)" ] && echo 1 || echo 0)"
    decoded() { gpu m_gpu "SELECT value FROM meta WHERE section = 'decode' AND key = '$1'"; }
    result "mixed files: decoded on the GPU" "$(decoded images)" "> 100" "$(holds "$(decoded images) > 100")"
    result "mixed files: pixels off, mean / largest" "$(decoded difference_mean | cut -c1-6) / $(decoded difference_max)" "mean <= 1" "$(holds "$(decoded difference_mean) <= 1")"
fi

# The loader's tests, on this device instead of the stand-in; beside a binary that was built here.
if [ -x "$BESIDE/tests/unit/probe/loader/test_decoding" ]; then
    beside env -u CMOCKA_MESSAGE_OUTPUT PIPEPROBE_TEST_DEVICE=1 "$BESIDE/tests/unit/probe/loader/test_decoding" >"$T/tests" 2>&1
    rc=$?
    result "the loader's decode tests: passed / skipped" "$(grep -c '^\[       OK' "$T/tests") / $(grep -c '^# skip' "$T/tests")" "none failed" "$([ $rc -eq 0 ] && echo 1 || echo 0)"
    [ $rc -eq 0 ] || grep -E 'off by|[Ee]rror|^# skip: .*CUDA' "$T/tests" | head -n 5 | sed 's/^/  /'
fi

# What each does wrong is what its verdict must say; the fed trainer is not input-bound.
sync_right=0
while IFS='|' read -r name want arguments; do
    # shellcheck disable=SC2086
    tokens "v_$name" $arguments || continue
    got=$(verdict "v_$name")
    right=$(case $want in "${got#*/}" | "${got%%/*}") echo 1 ;; *) echo 0 ;; esac)
    case $want in sync/*) sync_right=$((sync_right + right)) ;; esac
    result "verdict: $name" "$got" "$want" "$right"
done <<'ROWS'
pageable|sync/pageable|--step cuda:1ms --pageable
serial copy|sync/serial-copy|--step cuda:1.5ms --h2d sync
sync every step|sync/implicit-sync|--step cuda:0.2ms --window 4097 --sync-every-step
small batch|sync/small-batch|--step cuda:0.02ms --window 1025 --batch-size 1
fed|not-input-bound|--step cuda:20ms
ROWS

result "sync verdicts, of 4" "$sync_right" "4" "$(holds "$sync_right == 4")"

# Recording what the GPU does against leaving it alone: ABBA, twice; the medians of four.
for i in 1 2; do
    for way in on_a off_a off_b on_b; do
        scenario "${way}_$i" --step-ms 2 "$(case $way in on*) echo --gpu-activity ;; *) echo --no-gpu-activity ;; esac)" && rate "${way}_$i" >>"$T/${way%_*}"
    done
done
median() { sort -g "$1" | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
on=$(median "$T/on") off=$(median "$T/off")
cost=$(awk "BEGIN { printf \"%.2f\", (1 - $on / $off) * 100 }")
result "CUPTI's cost on samples/s, %" "$cost ($on / $off)" "<= 1" "$(holds "$cost <= 1")"

. "$HERE/gpu_check_pytorch.sh"

refused "no device left by CUDA_VISIBLE_DEVICES" 'CUDA_VISIBLE_DEVICES="" leaves no' env CUDA_VISIBLE_DEVICES= "$PP" run --synthetic n=10 --device cuda -o "$T/none.sqlite"
result "this check, seconds" "$SECONDS" "<= 480" "$(holds "$SECONDS <= 480")"
[ "$failures" -eq 0 ] || echo "$failures of these missed what was wanted"
[ "$failures" -eq 0 ]

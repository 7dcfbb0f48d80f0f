#!/bin/bash
# tests/bench/remote_peers.sh: pipeprobe beside PyTorch with boto3, with s3fs, and WebDataset with curl, on one server: 30 ms to the first byte, objects of 110 kB.
#
# The bound of a row is the requests in flight over the time of a request, as recorded with one in flight. Below it stands the share that is reached, and the CPU
# time per sample, of decoding and cropping too. WebDataset streams whole shards: its requests are few, and the bound is none of its. Environment: IN_FLIGHT (8),
# VARIANTS (all), ROUNDS (3), SECONDS_PER_RUN (6), IMAGES (400), LATENCY_MS (30), PYTHON (/usr/bin/python3, with Debian's torch and torchvision). boto3, s3fs and
# webdataset come from PyPI into build/venvs/remote; what cannot be installed is left out by name. Server and clients share the CPUs: keep the rates far below
# what these allow.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../remote.sh"
need_pipeprobe
need_remote
in_flight=${IN_FLIGHT:-8} rounds=${ROUNDS:-3} seconds=${SECONDS_PER_RUN:-6} images=${IMAGES:-400} latency=${LATENCY_MS:-30}
venv=${VENV:-$PWD/build/venvs/remote}
if ! [ -e "$venv/complete" ]; then
    mkdir -p "$(dirname "$venv")"
    { "${PYTHON:-/usr/bin/python3}" -m venv --system-site-packages "$venv" && "$venv/bin/pip" install -q boto3 s3fs webdataset && touch "$venv/complete"; } >"$T/pip" 2>&1 ||
        echo "# the packages of the peers cannot be installed: $(tail -n 1 "$T/pip")"
fi

mkdir "$T/data"
"$MAKE_DATASET" "$T/data/public-shards" --n "$images" --tar $((2 * in_flight)) >/dev/null
"$MAKE_DATASET" "$T/data/public-objects" --n "$images" --classes 1 >/dev/null
serve "$T/data" --s3 AKIDEXAMPLE wJalrXUtnFEMI
set_faults "latency-ms=$latency"
export AWS_ENDPOINT_URL=http://127.0.0.1:$PORT AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1
last=$(printf %06d $((2 * in_flight - 1)))

ours() { # PLACE OPTIONS...: "samples/s CPU-us-per-sample"; the recording is run.sqlite
    local TIMEFORMAT='%U %S' cpu
    cpu=$({ time "$PP" run "$@" --batch-size 8 --step none --duration "${seconds}s" --quiet --force -o "$T/run.sqlite" --json >"$T/run.json" 2>"$T/err" || [ $? = 3 ]; } 2>&1) || return 1
    sqlite3 :memory: "SELECT (j ->> 'samples_per_s') || ' ' || (j ->> 'samples') FROM (SELECT CAST(readfile('$T/run.json') AS TEXT) j)" |
        awk -v cpu="$cpu" '{ split(cpu, c, " "); printf "%.1f %.0f\n", $1, (c[1] + c[2]) * 1e6 / $2 }'
}
peer() { # KIND PLACE: likewise; "- -" where it cannot run
    timeout 120 "$venv/bin/python" tests/bench/remote_peers.py "$1" "$2" --in-flight "$in_flight" --seconds "$seconds" >"$T/peer.json" 2>"$T/peer.err" ||
        { echo "# $1: $(cat "$T/peer.json" "$T/peer.err" | grep . | tail -n 1)" >&2; echo "- -"; return; }
    sqlite3 :memory: "SELECT round(j ->> 'samples_per_s', 1) || ' ' || CAST(j ->> 'cpu_us_per_sample' AS INTEGER) FROM (SELECT CAST(readfile('$T/peer.json') AS TEXT) j)"
}
variant() {
    case $1 in
    objects) ours s3://public-objects/ --workers 2 --inflight $((in_flight / 2)) ;;
    shards) ours 's3://public-shards/shard-*.tar' --workers 2 --inflight $((in_flight / 2)) ;;
    stream) ours 's3://public-shards/shard-*.tar' --workers 2 --stream ;;
    boto3 | s3fs) peer "$1" s3://public-objects/ ;;
    webdataset) peer webdataset "http://127.0.0.1:$PORT/public-shards/shard-{000000..$last}.tar" ;;
    esac
}
median() { sort -n | awk '{ v[NR] = $1 } END { printf "%.*f", d, NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }' d="$1"; }

# ---- one in flight: what a request takes, and what more of them would bring by the replay ----

ours s3://public-objects/ --workers 1 >"$T/one" || { cat "$T/err" >&2; exit 1; }
one_ms=$(sql "$T/run.sqlite" "SELECT avg(queue_ns + resolve_ns + connect_ns + tls_ns + first_byte_ns + transfer_ns) / 1e6 FROM request WHERE sample IS NOT NULL")
kb=$(sql "$T/run.sqlite" "SELECT avg(bytes) / 1e3 FROM request WHERE sample IS NOT NULL")
ours s3://public-objects/ --workers 2 >"$T/two"
"$PP" whatif "$T/run.sqlite" --set "inflight=$((in_flight / 2))" --json >"$T/whatif.json"
predicted=$(json "$T/whatif.json" '$.predictions[0].samples_per_s')
bound=$(awk -v n="$in_flight" -v ms="$one_ms" 'BEGIN { print n * 1e3 / ms }')

variants=${VARIANTS:-objects shards stream boto3 s3fs webdataset}
for ((r = 0; r < rounds; r++)); do
    for v in $variants; do
        variant "$v" >>"$T/rounds.$v"
        [ "$v" != objects ] || sql "$T/run.sqlite" "SELECT avg(cpu_ns) / 1e3 FROM request WHERE sample IS NOT NULL AND status = 206 OR status = 200" >>"$T/request.cpu"
    done
done

printf '%s CPUs; %.0f kB an object; a request takes %.1f ms with one in flight; %d in flight allow %.0f requests/s; the replay predicts %.0f samples/s; %d rounds of %s s\n\n' \
    "$(nproc)" "$kb" "$one_ms" "$in_flight" "$bound" "$predicted" "$rounds" "$seconds"
echo "| $in_flight in flight | samples/s | over what $in_flight in flight allow | CPU time per sample |"
echo "|---|---|---|---|"
row() { # NAME VARIANT BOUND
    local rate cpu
    [ -s "$T/rounds.$2" ] && ! grep -q '^-' "$T/rounds.$2" || { echo "| $1 | not run | | |"; return; }
    rate=$(cut -d' ' -f1 "$T/rounds.$2" | median 0) cpu=$(awk '{ print $2 / 1e3 }' "$T/rounds.$2" | median 2)
    echo "| $1 | $rate | $([ "$3" = - ] && echo - || awk -v r="$rate" -v b="$3" 'BEGIN { printf "%.3f", r / b }') | $cpu ms |"
}
row "pipeprobe, single objects" objects "$bound"
row "pipeprobe, shards by index" shards "$bound"
row "PyTorch DataLoader, boto3, single objects" boto3 "$bound"
row "PyTorch DataLoader, s3fs, single objects" s3fs "$bound"
row "pipeprobe, shards streamed by one reader" stream -
row "WebDataset, pipe:curl, $in_flight streams" webdataset -
echo
echo "CPU time of a request in pipeprobe (signing, libcurl, the copy into the sample's buffer): $(median 0 <"$T/request.cpu") us"
awk -v a="$(awk '{ print $1 }' "$T/rounds.objects" | median 2)" -v p="$predicted" 'BEGIN { printf "Measured over predicted from the recording with one in flight per worker: %.3f\n", a / p }'

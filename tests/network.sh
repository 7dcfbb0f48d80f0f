# tests/network.sh: jobs that fetch their samples by HTTP, HTTPS or S3, one client each (tests/jobs/fetches.py), and the server they ask. Sourced behind lib.sh
# by the scripts that record them. Clients that PYTHON lacks are skipped; `make field` makes one that has them all (PYTHON=build/venvs/field/bin/python), as
# for `make bench-network`.
PYTHON=${PYTHON:-/usr/bin/python3}
[ -e "$PWD/$BUILD/python/attach/_pipeprobe.abi3.so" ] || skip_all "the extension is not built: no Python.h"
imports "$PYTHON" torch || skip_all "$PYTHON has no torch"

servers=()
trap '[ $BASHPID -ne $$ ] || { kill "${servers[@]}" 2>/dev/null; cleanup; }' EXIT
serve() { # SCHEME OPTIONS...: $URL
    : >"$T/port"
    "$PYTHON" tests/jobs/object_server.py "${@:2}" >"$T/port" &
    servers+=($!)
    for _ in $(seq 100); do [ -s "$T/port" ] && break; sleep 0.1; done
    URL=$1://127.0.0.1:$(head -n 1 "$T/port")
}
# 0: there is a recording of it, and $verdict has class and cause, $said the report.
record() { # CLIENT [--option ...]
    rm -f "$T"/r*.sqlite
    run timeout 100 "$PP" exec -q --force -o "$T/r.sqlite" -- "$PYTHON" tests/jobs/fetches.py "$1" "$URL" --samples "${SAMPLES:-160}" "${@:2}"
    if [ "$rc" = 77 ]; then skip "$*" "$(cat "$OUT")"; return 1; fi
    is "$*: the job's own status and output" "$rc $(grep -c '^rate' "$OUT")" "0 1"
    [ -e "$T/r.sqlite" ] || mv "$T/r-rank0000.sqlite" "$T/r.sqlite" # a job with a process group
    run "$PP" report "$T/r.sqlite"
    said=$(tr -s ' \n' ' ' <"$OUT")
    run "$PP" report --json "$T/r.sqlite"
    verdict="$(json "$OUT" '$.verdict.l1') $(json "$OUT" '$.verdict.l2')"
}
count() { sql "$T/r.sqlite" "SELECT $1 FROM request"; }

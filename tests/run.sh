#!/bin/bash
# tests/run.sh [-t SECONDS] PROGRAM...: runs every program (a cmocka binary, or a script printing TAP) under a time limit, and counts.
#
# A test is a line "ok N - name" or "not ok N - name" on standard output; "# SKIP reason" on either makes it a skip (cmocka writes
# "not ok N # SKIP name"). Several plans "1..N" in one output are fine: cmocka prints one per group. Beside "not ok" these
# count as one failure of the program: a crash, a time-out, an exit code that no "not ok" explains, fewer results than
# planned, no test at all. Exit code 77, or the plan "1..0 # SKIP reason", skips the whole program.
#
# Failures come with their output, skips with their reasons; the very last line is "N passed, N failed, N skipped".
set -u
limit=300
if [ "${1:-}" = -t ]; then limit=$2; shift 2; fi
export CMOCKA_MESSAGE_OUTPUT=TAP LC_ALL=C.UTF-8 TZ=UTC
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
: >"$work/skips"

# Thread sanitizer maps its shadow at fixed addresses, which strong address randomisation can already have taken.
plain_layout=
setarch "$(uname -m)" -R true 2>/dev/null && plain_layout="setarch $(uname -m) -R"

# Reads standard output of a program; writes "passed skipped", then one line "F what" per failure and "S what" per skip.
count='
    /^[ \t]*#[ \t]*skip:/ { reason = $0; sub(/^[ \t]*#[ \t]*skip:[ \t]*/, "", reason); next }
    /^1\.\.0[ \t]*#[ \t]*[Ss][Kk][Ii][Pp]/ { sub(/^[^#]*#[ \t]*[Ss][Kk][Ii][Pp][ \t:]*/, ""); skips[++s] = $0 != "" ? $0 : "no reason given"; whole = 1; next }
    /^1\.\.[0-9]+/ { planned += substr($0, 4) + 0; plans++; next }
    /^(not )?ok([ \t]|$)/ {
        name = $0; sub(/^(not )?ok[ \t]*[0-9]*[ \t]*-?[ \t]*/, "", name)
        seen++
        if (name ~ /#[ \t]*[Ss][Kk][Ii][Pp]/) {
            why = name; sub(/.*#[ \t]*[Ss][Kk][Ii][Pp][ \t:]*/, "", why); sub(/[ \t]*#.*/, "", name)
            skips[++s] = (name != "" ? name ": " : "") (why != "" ? why : "no reason given") (reason != "" ? ": " reason : "")
        } else if ($1 == "not") fails[++f] = name
        else p++
        reason = ""
    }
    END {
        if (rc == 77 && !f) { if (!s) skips[++s] = last_line != "" ? last_line : "exit code 77" }
        else if (rc == 124 || rc == 137) fails[++f] = "timed out or was killed (limit " limit " s)"
        else if (rc > 128) fails[++f] = "crashed: signal " rc - 128
        else if (rc != 0 && !f) fails[++f] = "exit code " rc " without a failed test"
        else if (!seen && !whole) fails[++f] = "ran no test"
        if (plans && seen < planned && rc != 77) fails[++f] = "stopped after " seen + 0 " of " planned " tests"
        print p + 0, s + 0
        for (i = 1; i <= f; i++) print "F " fails[i]
        for (i = 1; i <= s; i++) print "S " skips[i]
    }'

run_program() {
    local name=${1#./} rc begin prefix=() p s f
    name=${name#build/}
    case $1 in *.sh) prefix=(bash) ;; build/thread/*) prefix=($plain_layout) ;; esac
    begin=$SECONDS
    timeout -k 5 "$limit" "${prefix[@]}" "$1" >"$work/out" 2>"$work/err" </dev/null
    rc=$?
    awk -v rc=$rc -v limit="$limit" -v last_line="$(tail -n 1 "$work/out" | tr -d '\\')" "$count" "$work/out" >"$work/counted"
    read -r p s <"$work/counted"
    f=$(grep -c '^F ' "$work/counted")
    passed=$((passed + p)) skipped=$((skipped + s)) failed=$((failed + f))
    sed -n "s|^S |  $name: |p" "$work/counted" >>"$work/skips"
    if [ "$f" -eq 0 ]; then
        printf 'ok      %-44s %4d passed%s, %d s\n' "$name" "$p" "$([ "$s" -eq 0 ] || echo ", $s skipped")" $((SECONDS - begin))
        return
    fi
    printf 'FAILED  %s\n' "$name"
    sed -n 's/^F /        /p' "$work/counted"
    { echo "--- output of $name"; grep -v '^ok ' "$work/out" | tail -n 60; echo "--- standard error"; tail -n 60 "$work/err"; echo "---"; } | sed 's/^/    /'
}

for program; do run_program "$program"; done
if [ -s "$work/skips" ]; then
    echo "Skipped:"
    cat "$work/skips"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ]

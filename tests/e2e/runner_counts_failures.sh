#!/bin/bash
# The test runner itself: what it counts as passed, failed and skipped, and that its last line says so.
. "$(dirname "$0")/../lib.sh"

program() { printf '#!/bin/bash\n%s\n' "$2" >"$T/$1"; chmod +x "$T/$1"; }
program good 'printf "1..2\nok 1 - a\nok 2 - b\n"'
program groups 'printf "1..1\nok 1 - a\n1..2\nok 1 - b\nok 2 - c\n"; exit 0'
program bad 'printf "1..2\nok 1 - a\nnot ok 2 - b\n# why b failed\n"; exit 1'
program crash 'printf "1..2\nok 1 - a\n"; kill -SEGV $$'
program early 'printf "1..3\nok 1 - a\n"; exit 0'
program silent 'exit 0'
program code 'printf "1..1\nok 1 - a\n"; exit 3'
program hang 'echo "ok 1 - a"; sleep 60'
program cmocka_skip 'printf "1..1\n# skip: no GPU here\nnot ok 1 # SKIP copies\n"'
program tap_skip 'printf "ok 1 - x # SKIP no torch\n1..1\n"'
program whole 'echo "1..0 # SKIP nothing to compare with"; exit 77'

expect() { # NAME LAST-LINE CODE PROGRAM...
    local name=$1 last=$2 code=$3
    shift 3
    run bash tests/run.sh -t 2 "${@/#/$T/}"
    is "$name: count" "$(tail -n 1 "$OUT")" "$last"
    is "$name: exit code" "$rc" "$code"
}
expect "all good" "5 passed, 0 failed, 0 skipped" 0 good groups
expect "a failed test" "1 passed, 1 failed, 0 skipped" 1 bad
like "a failure shows its output" "$(cat "$OUT")" "why b failed"
expect "a crash" "1 passed, 2 failed, 0 skipped" 1 crash
expect "fewer tests than planned" "1 passed, 1 failed, 0 skipped" 1 early
expect "no test at all" "0 passed, 1 failed, 0 skipped" 1 silent
expect "an unexplained exit code" "1 passed, 1 failed, 0 skipped" 1 code
expect "a time-out" "1 passed, 1 failed, 0 skipped" 1 hang
expect "a missing program" "0 passed, 1 failed, 0 skipped" 1 absent
expect "cmocka's skip" "0 passed, 0 failed, 1 skipped" 0 cmocka_skip
like "a skip has its reason" "$(cat "$OUT")" "copies: no GPU here"
expect "TAP's skip" "2 passed, 0 failed, 1 skipped" 0 tap_skip good
expect "a whole program skipped" "0 passed, 0 failed, 1 skipped" 0 whole
like "and its reason" "$(cat "$OUT")" "nothing to compare with"
printf '. %s/tests/lib.sh\nis a 1 1\nis b 1 2\ncheck c false\ndone_testing\n' "$PWD" >"$T/script.sh"
expect "a script that uses lib.sh" "1 passed, 2 failed, 0 skipped" 1 script.sh
run bash "$T/script.sh"
is "such a script fails by itself too" "$rc $(tail -n 1 "$OUT")" "1 1..3"
expect "nothing to run" "0 passed, 0 failed, 0 skipped" 1

# -j: two that wait for one another can only pass side by side; one that is to be alone must have nothing beside it.
meets() { printf 'touch %s/here.%s; for _ in $(seq 150); do [ ! -e %s/here.%s ] || { echo "ok 1 - %s met %s"; exit; }; sleep 0.01; done; echo "not ok 1 - the other did not come"\n' "$T" "$1" "$T" "$2" "$1" "$2"; }
program one.sh "$(meets one two)"
program two.sh "$(meets two one)"
program alone.sh "# alone
[ -e $T/here.busy ] && echo 'not ok 1 - another test runs' || echo 'ok 1 - no other test runs'"
program busy.sh "touch $T/here.busy; sleep 0.5; rm $T/here.busy; echo 'ok 1 - was busy'"
run bash tests/run.sh -t 2 -j 2 "$T"/one.sh "$T"/two.sh
is "-j 2: side by side" "$(tail -n 1 "$OUT")" "2 passed, 0 failed, 0 skipped"
rm "$T"/here.*
run bash tests/run.sh -t 2 -j 1 "$T"/one.sh "$T"/bad
is "-j 1: one by one" "$(tail -n 1 "$OUT")" "1 passed, 2 failed, 0 skipped"
program idle.sh "# idle
$(meets two one)"
run bash tests/run.sh -t 2 -j 1 "$T"/one.sh "$T"/idle.sh
is "idle: beside the one of -j 1" "$(tail -n 1 "$OUT")" "2 passed, 0 failed, 0 skipped"
rm "$T"/here.*
mkdir -p "$T"/tree/build/{release,thread}/tests/unit "$T/tree/tests/unit"
echo '/* # idle */' >"$T/tree/tests/unit/test_two.c"
for variant in release thread; do
    cp "$T/two.sh" "$T/tree/build/$variant/tests/unit/test_two"
    run bash -c 'cd "$1" && exec bash "$2" -t 3 -j 1 "$3" "build/$4/tests/unit/test_two"' - "$T/tree" "$PWD/tests/run.sh" "$T/one.sh" $variant
    is "idle: a unit test whose source says so ($variant)" "$(tail -n 1 "$OUT")" "$([ $variant = thread ] && echo "1 passed, 1 failed" || echo "2 passed, 0 failed"), 0 skipped"
    rm "$T"/here.*
done
run bash tests/run.sh -t 2 -j 2 "$T"/alone.sh "$T"/busy.sh
is "alone: after the others" "$(grep -c '^ok ' "$OUT") $(tail -n 1 "$OUT")" "2 2 passed, 0 failed, 0 skipped"
for name in one two; do printf '# asleep\n[ ! -e %s/here.busy ] || echo "not ok 2 - another test runs"\n' "$T" | cat - "$T/$name.sh" >"$T/asleep_$name.sh"; done
run bash tests/run.sh -t 2 -j 2 "$T"/asleep_one.sh "$T"/busy.sh "$T"/asleep_two.sh
is "asleep: side by side, after the others" "$(tail -n 1 "$OUT")" "3 passed, 0 failed, 0 skipped"
rm "$T"/here.*

# -f: one more while a CPU has nothing to do, and none while all work. What sleeps while it times waits for half of all.
idle_cpus() { # PERCENT of all: a /proc/stat
    local began=${EPOCHREALTIME/./} ticks of_each cpu
    ticks=$(getconf CLK_TCK)
    while :; do
        of_each=$(((${EPOCHREALTIME/./} - began) / 1000 * ticks * $1 / 100000))
        for cpu in "" $(seq 0 $(($(nproc --all) - 1))); do echo "cpu$cpu 0 0 0 $of_each 0 0"; done >"$T/stat.new" && mv "$T/stat.new" "$T/stat"
        sleep 0.1
    done
}
fills() { # PERCENT PROGRAM...
    idle_cpus "$1" &
    local stat=$!
    while [ ! -e "$T/stat" ]; do sleep 0.01; done
    run env CPU_STAT="$T/stat" bash tests/run.sh -t 20 -j 1 -f 2 "${@:2}"
    kill $stat
    wait $stat 2>/dev/null
    rm -f "$T"/here.* "$T/stat"
    tail -n 1 "$OUT"
}
for name in one two; do sed -i 's/seq 150/seq 300/' "$T/$name.sh" "$T/asleep_$name.sh"; done
is "-f: side by side while there is room" "$(fills 100 "$T"/one.sh "$T"/two.sh)" "2 passed, 0 failed, 0 skipped"
is "-f: one by one while there is none" "$(fills 0 "$T"/one.sh "$T"/two.sh)" "1 passed, 1 failed, 0 skipped"
is "-f: asleep, side by side while most have nothing to do" "$(fills 100 "$T"/asleep_one.sh "$T"/asleep_two.sh)" "2 passed, 0 failed, 0 skipped"
is "-f: asleep, one by one while a tenth has" "$(fills 10 "$T"/asleep_one.sh "$T"/asleep_two.sh)" "1 passed, 1 failed, 0 skipped"
like "each line has the CPU time, in s" "$(grep '^ok ' "$OUT")" "asleep_two.sh +1 passed, [0-9]+ s, [0-9]+\.[0-9] s of CPU"
like "and the last but one how long each kind took" "$(tail -n 2 "$OUT" | head -n 1)" \
    "^Took [0-9]+ s: [0-9]+ s beside one another, [0-9]+ s asleep, [0-9]+ s alone, [0-9]+ s again; [0-9]+ s of CPU$"
mkdir "$T/quota" && echo "50000 100000" >"$T/quota/cpu.max"
is "-f: nothing more under a quota" "$(CGROUPS=$T/quota fills 100 "$T"/one.sh "$T"/two.sh)" "1 passed, 1 failed, 0 skipped"
run bash tests/run.sh -f 0 "$T"/one.sh
is "-f 0 is refused" "$rc $(grep -c 'from 1 on' "$ERR")" "2 1"

# -r: a script that failed gets a second run by itself; a binary does not, and twice failed is failed.
program unsteady.sh "[ -e $T/tried ] && echo 'ok 1 - at last' || { touch $T/tried; echo 'not ok 1 - too early'; exit 1; }"
program twice.sh 'echo "not ok 1 - never"; exit 1'
run bash tests/run.sh -r "$T"/unsteady.sh "$T"/good
is "-r: passes in its second run" "$rc $(tail -n 1 "$OUT")" "0 3 passed, 0 failed, 0 skipped"
like "-r: and what failed first is listed" "$(grep -A 1 '^Passed only in a second run:' "$OUT")" "unsteady.sh: too early"
run bash tests/run.sh -r "$T"/twice.sh "$T"/bad
is "-r: a script that fails twice, and a program that fails once" "$rc $(tail -n 1 "$OUT")" "1 1 passed, 2 failed, 0 skipped"
is "-r: only the script ran again" "$(grep -c '^AGAIN' "$OUT") $(grep -c '^FAILED' "$OUT")" "1 2"
rm "$T/tried"
program once.sh "# once
$(sed 1d "$T/unsteady.sh")"
run bash tests/run.sh -r "$T"/once.sh
is "-r: a script marked # once runs once" "$rc $(tail -n 1 "$OUT")" "1 0 passed, 1 failed, 0 skipped"
rm "$T/tried"
run bash tests/run.sh "$T"/unsteady.sh
is "without -r a script runs once" "$rc $(tail -n 1 "$OUT")" "1 0 passed, 1 failed, 0 skipped"
run bash tests/run.sh -j two "$T"/good
is "no number of jobs" "$rc $(cat "$ERR")" "2 usage: tests/run.sh [-t SECONDS] [-j N] [-f M] [-r] PROGRAM...; SECONDS, N and M are whole numbers from 1 on"
program waits 'trap "touch '"$T"'/stopped; exit 1" TERM; touch '"$T"'/waiting; while :; do sleep 0.02; done'
bash tests/run.sh -t 20 "$T/waits" >"$OUT" 2>"$ERR" &
for _ in $(seq 500); do [ -e "$T/waiting" ] && break; sleep 0.01; done
kill -TERM $!
wait $!
is "stopped: exit code" $? 143
for _ in $(seq 200); do [ -e "$T/stopped" ] && break; sleep 0.01; done
check "stopped: what ran is stopped too" test -e "$T/stopped"

# .ci/run: the count is the last line whatever make adds, and a build that breaks is a failure.
ci() { # NAME LAST-LINE CODE, a stand-in for make on stdin
    mkdir -p "$T/bin"
    { echo '#!/bin/bash'; cat; } >"$T/bin/make"
    chmod +x "$T/bin/make"
    run env PATH="$T/bin:$PATH" bash .ci/run
    is ".ci/run, $1: count" "$(tail -n 1 "$OUT")" "$2"
    is ".ci/run, $1: exit code" "$rc" "$3"
}
ci "all good" "3 passed, 0 failed, 1 skipped" 0 <<<'echo "3 passed, 0 failed, 1 skipped"'
ci "failures" "3 passed, 2 failed, 0 skipped" 2 <<<'echo "3 passed, 2 failed, 0 skipped"; echo "make: *** [test] Error 1"; exit 2'
ci "a broken build" "0 passed, 1 failed, 0 skipped" 2 <<<'echo "x.c:1: error"; exit 2'
ci "no count" "0 passed, 1 failed, 0 skipped" 1 <<<'exit 0'
done_testing

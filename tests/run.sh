#!/bin/bash
# tests/run.sh [-t SECONDS] [-j N] [-f M] [-r] PROGRAM...: runs every program (a cmocka binary, or a script printing TAP) under a time limit, N at a time,
# and counts.
#
# -f: while half a CPU has nothing to do for a second, one more runs beside the N, up to M in all; of the CPUs that we
# may use, while 1.5 GiB of memory are free, and not where a quota of a cgroup is less than these CPUs.
#
# A script with a line "# alone" judges times: it runs after the others, with nothing beside it. One with a line "# asleep" judges times too, but what it
# times mostly sleeps: those run side by side, before the ones that run alone. -f adds to those only while half of all CPUs has nothing to do.
# A script with a line "# idle" mostly waits and needs a third of a CPU at most: one of them runs beside the N others. So does a unit test whose source has
# a line "/* # idle */", but for one under ThreadSanitizer, which makes it compute.
#
# -r: a script that failed runs once more after all the others, by itself, and that result counts; where it passes, the first failure is
# listed under "Passed only in a second run". A binary, or a script with a line "# once", never runs twice: a race that shows once is a race.
#
# A test is a line "ok N - name" or "not ok N - name" on standard output; "# SKIP reason" on either makes it a skip (cmocka writes
# "not ok N # SKIP name"). Several plans "1..N" in one output are fine: cmocka prints one per group. Beside "not ok" these
# count as one failure of the program: a crash, a time-out, an exit code that no "not ok" explains, fewer results than
# planned, no test at all. Exit code 77, or the plan "1..0 # SKIP reason", skips the whole program.
#
# Failures come with their output, skips with their reasons; the very last line is "N passed, N failed, N skipped".
set -u
set -m # a program started beside others still gets SIGINT as a terminal would send it
usage='usage: tests/run.sh [-t SECONDS] [-j N] [-f M] [-r] PROGRAM...'
limit=300 jobs=1 fill= second_run=
while getopts t:j:f:r option; do
    case $option in
    t) limit=$OPTARG ;;
    j) jobs=$OPTARG ;;
    f) fill=$OPTARG ;;
    r) second_run=1 ;;
    *) echo "$usage" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[[ $limit =~ ^[1-9][0-9]*$ && $jobs =~ ^[1-9][0-9]*$ && ${fill:-1} =~ ^[1-9][0-9]*$ ]] || { echo "$usage; SECONDS, N and M are whole numbers from 1 on" >&2; exit 2; }
fill=${fill:-0}
export CMOCKA_MESSAGE_OUTPUT=TAP LC_ALL=C.UTF-8 TZ=UTC
# Without intercept_tls_get_addr=0 the leak check of Debian 12's libasan can crash itself ("Tracer caught signal 11") where a library was opened at run time, by how memory
# happens to lie: seen with the fake CUPTI in a chroot, every time, with a binary that passes outside. Leaks are found all the same.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0:intercept_tls_get_addr=0} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}

work=$(mktemp -d) || exit 1
passed=0 failed=0 skipped=0 started=0
declare -A path=() began=() output=() waits=() # of what runs, by process id; waits: 1 for an "# idle" one
declare -A first=() # of scripts that run twice: what failed first
tick=               # process id of the sleep after which the CPUs are looked at again
stop() { [ -z "${!path[*]}$tick" ] || { kill "${!path[@]}" $tick; wait; } 2>/dev/null; rm -rf "$work"; } # timeout passes it on
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
: >"$work/skips"
mkdir "$work/facts" && export FACTS=$work/facts # what scripts find out of this machine once (tests/lib.sh)

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

start() { # PROGRAM
    local prefix=() out=$work/$((started += 1))
    case $1 in *.sh) prefix=(bash) ;; build/thread/*) prefix=($plain_layout) ;; esac
    timeout -k 5 "$limit" "${prefix[@]}" "$1" >"$out.out" 2>"$out.err" </dev/null &
    path[$!]=$1 began[$!]=$SECONDS output[$!]=$out
}

show_failures() { # WORD PROGRAM'S-NAME OUTPUT SECONDS
    printf '%-7s %s, %d s\n' "$1" "$2" "$4"
    sed -n 's/^F /        /p' "$work/counted"
    { echo "--- output of $2"; grep -v '^ok ' "$3.out" | tail -n 60; echo "--- standard error"; tail -n 60 "$3.err"; echo "---"; } | sed 's/^/    /'
}

# CPU time of all programs that ended, in ms: in $cpu_ms.
cpu_of_ended() {
    times >"$work/times"
    cpu_ms=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); ms += (t[1] * 60 + t[2]) * 1000 } } END { printf "%d", ms }' "$work/times")
}

# The CPUs that we may use, as "cpu0 cpu1 ": a host's others say nothing of room here.
ours() {
    local list part
    list=$(sed -n 's/^Cpus_allowed_list:[ \t]*//p' /proc/self/status)
    for part in ${list//,/ }; do seq -f 'cpu%.0f' "${part%-*}" "${part#*-}"; done | tr '\n' ' '
}
# Whether a quota allows less than these CPUs: then idle CPUs are not ours to use. $CGROUPS stands for /sys/fs/cgroup (a test's).
under_quota() { # CPUS
    local group root=${CGROUPS:-/sys/fs/cgroup} dir quota period
    group=$(sed -n 's/^0:://p' /proc/self/cgroup)
    for dir in "$root" "$root${group%/}" "$root/unified${group%/}"; do
        read -r quota period 2>/dev/null <"$dir/cpu.max" && [ "$quota" != max ] && [ "$quota" -lt $((period * $1)) ] && return 0
    done
    group=$(sed -n 's/^[0-9]*:\([^:]*,\)*cpu\(,[^:]*\)*:\(.*\)/\3/p' /proc/self/cgroup)
    for dir in "$root/cpu" "$root/cpu${group%/}"; do
        quota=$(cat "$dir/cpu.cfs_quota_us" 2>/dev/null) period=$(cat "$dir/cpu.cfs_period_us" 2>/dev/null)
        [ "${quota:--1}" -gt 0 ] && [ "$quota" -lt $((period * $1)) ] && return 0
    done
    return 1
}

# Half of so many of our CPUs had nothing to do since the last look, 1 s to 2 s ago, and 1.5 GiB of memory are free. $CPU_STAT stands for /proc/stat (a test's).
has_room() { # CPUS
    local now=${EPOCHREALTIME/./} name user nice system waits iowait rest idle=0 free
    [ $((now - looked_us)) -ge 1000000 ] || return 1
    while read -r name user nice system waits iowait rest; do
        case " $our_cpus" in *" $name "*) idle=$((idle + waits + iowait)) ;; esac
    done <"${CPU_STAT:-/proc/stat}"
    local gained=$((idle - looked_idle)) us=$((now - looked_us))
    looked_us=$now looked_idle=$idle
    [ $us -le 2000000 ] && [ $((gained * 2000000)) -ge $((us * $1 * ticks_per_s)) ] || return 1
    free=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
    [ "${free:-$least_free_kib}" -ge $least_free_kib ]
}
look_anew() { looked_us=0; has_room 1; looked_us=${EPOCHREALTIME/./}; }

# Waits for one of those that run, and counts it; with a tick, for that at most.
finish() {
    local pid rc program name out took p s f before=$cpu_ms
    wait -n -p pid
    rc=$?
    if [ "$pid" = "$tick" ]; then tick=; return; fi
    cpu_of_ended
    program=${path[$pid]} name=${program#./} name=${name#build/} out=${output[$pid]} took=$((SECONDS - began[$pid]))
    unset "path[$pid]" "waits[$pid]"
    awk -v rc=$rc -v limit="$limit" -v last_line="$(tail -n 1 "$out.out" | tr -d '\\')" "$count" "$out.out" >"$work/counted"
    read -r p s <"$work/counted"
    f=$(grep -c '^F ' "$work/counted")
    if [ "$f" -gt 0 ] && [ -n "$second_run" ] && [[ $program = *.sh ]] && ! marked once "$program"; then
        show_failures AGAIN "$name" "$out" $took
        first[$program]=$(sed -n 's/^F //p' "$work/counted" | paste -sd ';')
        rm -f "$out".*
        return
    fi
    passed=$((passed + p)) skipped=$((skipped + s)) failed=$((failed + f))
    sed -n "s|^S |  $name: |p" "$work/counted" >>"$work/skips"
    if [ "$f" -eq 0 ]; then
        printf 'ok      %-44s %4d passed%s, %d s, %d.%d s of CPU\n' "$name" "$p" "$([ "$s" -eq 0 ] || echo ", $s skipped")" $took $(((cpu_ms - before) / 1000)) $(((cpu_ms - before) / 100 % 10))
        [ -z "${first[$program]:-}" ] || echo "  $name: ${first[$program]}" >>"$work/second"
    else
        show_failures FAILED "$name" "$out" $took
    fi
    rm -f "$out".*
}

marked() { # WORD PROGRAM
    case $2 in
    *.sh) grep -qs "^# $1\$" "$2" ;;
    build/thread/*) false ;;
    build/*/tests/unit/*) grep -qs "^/\* # $1 \*/\$" "tests/unit/${2#build/*/tests/unit/}.c" ;;
    *) false ;;
    esac
}

run_all() { # N M CPUS PROGRAM...: N at a time, and M while half of so many CPUs has nothing to do
    local most=$1 fill=$2 cpus=$3 program busy=() idle=()
    shift 3
    look_anew
    for program; do
        if [ -n "$beside" ] && marked idle "$program"; then idle+=("$program"); else busy+=("$program"); fi
    done
    while [ $((${#busy[@]} + ${#idle[@]} + ${#path[@]})) -gt 0 ]; do
        if [ ${#idle[@]} -gt 0 ] && [ ${#waits[@]} -eq 0 ]; then
            start "${idle[0]}"
            waits[$!]=1 idle=("${idle[@]:1}")
        elif [ ${#busy[@]} -gt 0 ] && [ $((${#path[@]} - ${#waits[@]})) -lt "$most" ]; then
            start "${busy[0]}"
            busy=("${busy[@]:1}")
            look_anew
        elif [ $((${#busy[@]} + ${#idle[@]})) -gt 0 ] && [ ${#path[@]} -lt "$fill" ]; then
            if ! has_room "$cpus"; then
                [ -n "$tick" ] || { sleep 0.3 & tick=$!; }
                finish
            elif [ ${#idle[@]} -gt 0 ]; then
                start "${idle[0]}"
                idle=("${idle[@]:1}")
            else
                start "${busy[0]}"
                busy=("${busy[@]:1}")
            fi
        else
            finish
        fi
    done
}

together=() asleep=() alone=()
for program; do
    if marked alone "$program"; then alone+=("$program")
    elif marked asleep "$program"; then asleep+=("$program")
    else together+=("$program"); fi
done
cpus=$(nproc) our_cpus=$(ours) least_free_kib=1572864 ticks_per_s=$(getconf CLK_TCK) looked_us=0 looked_idle=0 cpu_ms=0 took=() beside=1
under_quota "$cpus" && fill=0
run_all "$jobs" "$fill" 1 "${together[@]}"
took+=($SECONDS) beside=
run_all "$jobs" "$fill" "$cpus" "${asleep[@]}"
took+=($SECONDS)
run_all 1 0 1 "${alone[@]}"
took+=($SECONDS) second_run=
run_all 1 0 1 "${!first[@]}"
if [ -s "$work/second" ]; then
    echo "Passed only in a second run:"
    cat "$work/second"
fi
if [ -s "$work/skips" ]; then
    echo "Skipped:"
    cat "$work/skips"
fi
cpu_of_ended
printf 'Took %d s: %d s beside one another, %d s asleep, %d s alone, %d s again; %d s of CPU\n' $SECONDS ${took[0]} $((took[1] - took[0])) $((took[2] - took[1])) $((SECONDS - took[2])) $((cpu_ms / 1000))
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ]

# tests/lib.sh: what the end-to-end scripts share: TAP, running a command with its output kept, JSON and SQLite look-ups.
# Source it, call `check`, `is`, `like`, ..., and end with `done_testing`. Scripts run from the repository root; $T is a
# private directory that goes away at the end. The binaries tested are those of $BUILD (build/release).
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
BUILD=${BUILD:-build/release}
PP=$PWD/$BUILD/pipeprobe
MAKE_DATASET=$PWD/$BUILD/samples/make_dataset
T=$(mktemp -d) || exit 1
cleanup() { rm -rf "$T"; }
trap '[ $BASHPID -ne $$ ] || cleanup' EXIT # a subshell that is killed would run it too
# A user's settings must not decide a test.
export XDG_CONFIG_HOME=$T/config XDG_CACHE_HOME=$T/cache NO_COLOR=1 LC_ALL=C.UTF-8
unset COLUMNS # a width of the caller's
for name in $(compgen -e PIPEPROBE_); do unset "$name"; done
for name in RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE $(compgen -e | grep -E '^(OMPI_COMM|PMI|MV2_COMM|JSM_NAMESPACE|SLURM)_|^TORCHELASTIC'); do unset "$name"; done

tests=0 failures=0 rc=0
OUT=$T/stdout ERR=$T/stderr

note() { sed 's/^/# /'; }
pass() { tests=$((tests + 1)); echo "ok $tests - $1"; }
fail() { # NAME, what there is to say on stdin (not through a pipe: a subshell's count would be lost)
    tests=$((tests + 1)) failures=$((failures + 1))
    echo "not ok $tests - $1"
    note
}
skip() { tests=$((tests + 1)); echo "ok $tests - $1 # SKIP $2"; }
skip_all() { echo "1..0 # SKIP $1"; exit 77; }
# What `make test` builds must be there: without it nothing was tested, which is a failure and no skip.
need_built() { # TARGET FILE...
    local target=$1 file
    shift
    for file; do [ -x "$file" ] || { fail "$file is built" <<<"build it with: make $target"; done_testing; }; done
}
done_testing() { echo "1..$tests"; [ "$failures" -eq 0 ]; exit; }

# On a device's machine (a script's $DEVICE) there may be no sqlite3: Python's stands in for it.
[ -z "${DEVICE:-}" ] || command -v sqlite3 >/dev/null || sqlite3() { # [-batch -noheader] FILE SQL
    [ "$1" != -batch ] || shift 2
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.create_function("readfile", 1, lambda path: open(path, "rb").read())
for row in db.execute(sys.argv[2]):
    print("|".join("" if v is None else str(v) for v in row))' "$@"
}

# Runs a command; $rc, $OUT and $ERR have the outcome.
run() {
    echo "$*" >"$T/command"
    "$@" >"$OUT" 2>"$ERR" </dev/null
    rc=$?
}
last_run() { echo "command: $(cat "$T/command")"; echo "exit code $rc"; head -n 20 "$OUT"; echo "stderr:"; head -n 20 "$ERR"; }

check() { # NAME COMMAND...: passes when the command succeeds
    local name=$1
    shift
    if "$@" >"$T/check" 2>&1; then pass "$name"; else fail "$name" < <(echo "failed: $*"; head -n 20 "$T/check"; last_run); fi
}
is() { # NAME GOT WANT
    if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" < <(echo "got  '$2'"; echo "want '$3'"; last_run); fi
}
like() { # NAME TEXT EXTENDED-REGEX
    if grep -Eqi -- "$3" <<<"$2"; then pass "$1"; else fail "$1" < <(echo "'$2' does not match '$3'"; last_run); fi
}
holds() { # NAME ARITHMETIC: numbers may be fractions; passes when awk says it is true
    if awk "BEGIN { exit !($2) }" 2>/dev/null; then pass "$1"; else fail "$1" < <(echo "does not hold: $2"; last_run); fi
}

# A refusal: exit code, and standard error is one sentence naming the thing, not a stack trace or a sanitizer's report.
refuses() { # NAME CODE REGEX COMMAND...
    local name=$1 code=$2 regex=$3 lines
    shift 3
    run timeout 60 "$@"
    lines=$(grep -c . "$ERR")
    if [ "$rc" -ne "$code" ]; then fail "$name: exit code $rc, not $code" < <(last_run)
    elif [ "$lines" -ne 1 ] || ! grep -Eqi -- "$regex" "$ERR"; then fail "$name: the message" < <(echo "want one line matching '$regex'"; last_run)
    else pass "$name"; fi
}

# SQLite's own JSON functions read our documents: no other tool is needed.
json() { sqlite3 :memory: "SELECT json_extract(CAST(readfile('$1') AS TEXT), '$2')"; }
json_keys() { sqlite3 :memory: "SELECT group_concat(key, ' ') FROM (SELECT key FROM json_each(CAST(readfile('$1') AS TEXT), '$2') ORDER BY key)"; }
judged() { # CHECK NAME ARGUMENT...: of a report in JSON, unless others computed meanwhile: its times are not the job's own then
    if [ "$(json "$OUT" '$.verdict.doubt')" = "other processes use the CPUs" ]; then skip "$2" "other processes used the CPUs"; else "$@"; fi
}
json_valid() { [ "$(sqlite3 :memory: "SELECT json_valid(CAST(readfile('$1') AS TEXT))")" = 1 ]; }
sql() { sqlite3 -batch -noheader "$1" "$2"; }

# Whether PYTHON imports these modules. To try takes seconds (PyTorch), so the scripts of one tests/run.sh share a success ($FACTS).
imports() { # PYTHON 'MODULE, MODULE'
    local fact
    fact=${FACTS:-$T}/.imports-$(cksum <<<"$1 $2 ${PYTHONPATH:-} ${LD_LIBRARY_PATH:-}" | tr ' ' -)
    [ -e "$fact" ] || { "$1" -c "import $2" 2>/dev/null && : >"$fact"; }
    [ -e "$fact" ]
}

need_pipeprobe() {
    need_built all "$PP"
    command -v sqlite3 >/dev/null || skip_all "sqlite3 is not installed"
}

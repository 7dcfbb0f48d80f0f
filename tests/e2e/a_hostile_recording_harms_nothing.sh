#!/bin/bash
# once
# A recording that came from elsewhere, with whatever lies beside it, in every command that opens recordings: nothing is deleted, written or made
# beside it, nothing runs on, and what is refused is refused in a sentence. With the release build and under ASan and UBSan.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
ASAN=${ASAN_BINARY:-$PWD/build/address-undefined/pipeprobe}
need_built "SAN=address,undefined all" "$ASAN"
SOUND=$T/sound.sqlite
"$PP" run --synthetic n=4000,size=32x32 --steps 40 --warmup 5 --workers 2 --quiet -o "$SOUND" >/dev/null 2>&1
OTHER=$T/other.sqlite # to compare with
"$PP" run --synthetic n=4000,size=32x32 --steps 40 --warmup 5 --workers 2 --quiet -o "$OTHER" >/dev/null 2>&1
check "there is a recording to change" test -s "$SOUND"

# Every command that opens a recording, one a line: these under the sanitizers, the first three with the release build too.
commands() { # FILE
    cat <<ROWS
report $1
top --once $1
compare $OTHER $1
report --json $1
top --once --view batch --size 120x50 $1
export $1 --to chrome --force -o $T/out.json
export $1 --to nsys --force -o $T/out.nsys.sqlite
compare $1 $OTHER
whatif $1
history add $1 --db $T/history.sqlite --label x$RANDOM$RANDOM
ci baseline save $1 --baseline $T/baseline.json
ROWS
}
# And those that read it by the same calls: with the release build alone; fuzz targets try them under the sanitizers.
more_commands() { # FILE
    cat <<ROWS
ranks $1
ranks --audit $1
merge $1 --force -o $T/out.digest
metrics $1
ROWS
}

listing() { (cd "$1" && find . -type f -o -type p -o -type l | sort | xargs stat -c '%n %F %s %u' ; cat "$1"/*.txt 2>/dev/null); }

# survives NAME REGEX: all commands on $T/case/run.sqlite end, say something on failure (REGEX, where one is given, in each that fails), and leave the directory as it is.
survives() {
    local name=$1 regex=${2:-.} words before after
    before=$(listing "$T/case")
    for binary in "$PP" "$ASAN"; do
        while read -r words; do
            # shellcheck disable=SC2086
            run timeout -k 5 60 "$binary" $words
            if grep -qE 'Sanitizer|runtime error' "$ERR"; then fail "$name: ${words%% *}: a sanitizer's report" < <(last_run)
            elif [ "$rc" -gt 4 ]; then fail "$name: ${words%% *}: exit code $rc" < <(last_run)
            elif [ "$rc" -eq 4 ] && ! grep -Eqi -- "$regex" "$ERR"; then fail "$name: ${words%% *}: the message" < <(last_run)
            else continue; fi
            return
        done < <(if [ "$binary" = "$ASAN" ]; then commands "$T/case/run.sqlite"; else commands "$T/case/run.sqlite" | head -n 3; more_commands "$T/case/run.sqlite"; fi)
    done
    after=$(listing "$T/case")
    is "$name: all commands end, and the directory is as it was" "$after" "$before"
}

fresh() { rm -rf "$T/case" && mkdir "$T/case" && cp "$SOUND" "$T/case/run.sqlite"; }
hex() { printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n'; }
put_hex() { sqlite3 :memory: "SELECT writefile('$1', x'$2')" >/dev/null; }

# -- journals
MAGIC=d9d505f920a163d7
journal() { # FILE [SUPER]: a hot journal without pages; SUPER: the file it names as that of several databases
    local pages size head name sum=0 i
    pages=$(sql "$SOUND" 'PRAGMA page_count') size=$(sql "$SOUND" 'PRAGMA page_size')
    head=$(printf '%s%08x%08x%08x%08x%08x' $MAGIC 0 0 "$pages" 512 "$size")
    head+=$(printf '0%.0s' $(seq $((1024 - ${#head}))))
    if [ -n "${2:-}" ]; then
        name=$(hex "$2")
        for ((i = 0; i < ${#name}; i += 2)); do sum=$((sum + 0x${name:i:2})); done
        head+=$(printf '%08x%s%08x%08x%s' $((0x40000000 / size + 1)) "$name" ${#2} $sum $MAGIC)
    fi
    put_hex "$1" "$head"
}
fresh
echo "years of work" >"$T/case/precious.txt"
journal "$T/case/run.sqlite-journal" "$T/case/precious.txt"
survives "a journal that names another file"
run "$PP" report "$T/case/run.sqlite" --full
like "and the report says that it was left alone" "$(cat "$OUT" "$ERR")" "journal"
cp -r "$T/case" "$T/copy"
sed -i "s|$T/case|$T/copy|" "$T/copy/precious.txt"
journal "$T/copy/run.sqlite-journal" "$T/copy/precious.txt"
sqlite3 "$T/copy/run.sqlite" 'SELECT count(*) FROM meta' >/dev/null 2>&1
check "which sqlite3 itself would have deleted" test ! -e "$T/copy/precious.txt"

fresh
journal "$T/case/run.sqlite-journal"
run "$PP" report "$T/case/run.sqlite"
check "a journal of our own is rolled back" test ! -e "$T/case/run.sqlite-journal" -a "$rc" -ne 4
if [ "$(id -u)" -eq 0 ]; then
    fresh
    journal "$T/case/run.sqlite-journal"
    chown 65534 "$T/case/run.sqlite"*
    survives "root reads another user's recording with a journal"
fi

# -- pipes, links
for suffix in -journal -wal; do
    fresh
    mkfifo "$T/case/run.sqlite$suffix"
    survives "a pipe called run.sqlite$suffix" "run\.sqlite$suffix is a link, a pipe or a device"
    fresh
    echo "years of work" >"$T/case/precious.txt"
    ln -s precious.txt "$T/case/run.sqlite$suffix"
    survives "a link called run.sqlite$suffix" "run\.sqlite$suffix is a link, a pipe or a device"
done
rm -rf "$T/case" && mkdir "$T/case" && mkfifo "$T/case/run.sqlite"
survives "a pipe in place of the recording" "is not a file"
fresh
mkdir -m 700 "$T/case/run.sqlite.rings"
mkfifo "$T/case/run.sqlite.rings/session"
survives "a pipe in place of a session"

# -- the schema
ENDLESS="WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
while IFS='|' read -r name text; do
    fresh
    sqlite3 "$T/case/run.sqlite" "PRAGMA legacy_alter_table=1; $text" >/dev/null 2>"$T/refused" || { fail "$name: was made" <"$T/refused"; continue; }
    survives "$name" "run\.sqlite"
done <<ROWS
an endless view for meta|ALTER TABLE meta RENAME TO m; CREATE VIEW meta AS $ENDLESS SELECT 'run' AS section, i AS key, i AS value, NULL AS unit FROM n
an endless view for loss|ALTER TABLE loss RENAME TO m; CREATE VIEW loss AS $ENDLESS SELECT i AS what, i AS count, i AS why FROM n
an endless view for thread|ALTER TABLE thread RENAME TO m; CREATE VIEW thread AS $ENDLESS SELECT i AS id, 'worker' AS lane, i AS name, 1 AS pid, 1 AS tid, 1 AS recorded, 0 AS dropped FROM n
a view of 1 GB|ALTER TABLE loss RENAME TO m; CREATE VIEW loss AS SELECT hex(zeroblob(500000000)) AS what, 1 AS count, 'x' AS why
a view that the schema calls a table|PRAGMA writable_schema=1; UPDATE sqlite_master SET sql = 'CREATE VIEW loss AS $ENDLESS SELECT i AS what, i AS count, i AS why FROM n' WHERE name = 'loss'
a generated column|ALTER TABLE loss RENAME COLUMN why TO w; ALTER TABLE loss ADD COLUMN why AS (hex(zeroblob(400000000))) VIRTUAL
a virtual table|ALTER TABLE loss RENAME TO m; CREATE VIRTUAL TABLE loss USING fts5(what, count, why)
no table meta|DROP TABLE meta
numbers that cannot be|UPDATE meta SET value = 1e300 WHERE typeof(value) <> 'text'; UPDATE thread SET id = id - 5; UPDATE rollup_second SET second = 9e18, phase = 255
a batch size of 60,000|UPDATE meta SET value = 60000 WHERE key = 'batch_size'
ROWS

# -- settings that nothing was recorded with: the replays stay as long as the recording
report_cpu_s() { # FILE: the least user time of three
    local TIMEFORMAT=%U
    for _ in 1 2 3; do { time "$PP" report "$1" >/dev/null 2>&1; } 2>&1; done | sort -n | head -n 1
}
alone=$(report_cpu_s "$SOUND")
for words in "key = 'batch_size'" "section = 'config' AND typeof(value) <> 'text'"; do
    fresh
    sql "$T/case/run.sqlite" "UPDATE meta SET value = 60000 WHERE $words"
    cpu=$(report_cpu_s "$T/case/run.sqlite")
    holds "60000 where $words: a report takes $cpu s of CPU time, $alone s without" "$cpu < 12 * $alone + 0.3"
done

# -- our own views are for sqlite3
fresh
check "sqlite3 reads the views" test "$(sql "$T/case/run.sqlite" 'SELECT count(*) FROM v_phase_summary')" -gt 2

# -- a log from elsewhere, cut and changed
fresh
sqlite3 "$T/case/run.sqlite" 'PRAGMA journal_mode=wal; PRAGMA wal_autocheckpoint=0' '.dbconfig no_ckpt_on_close on' "INSERT INTO loss VALUES('from the log', 7, 'seen')" >/dev/null
rm -f "$T/case/run.sqlite-shm"
check "there is a log" test -s "$T/case/run.sqlite-wal"
run "$PP" report "$T/case/run.sqlite"
like "a log that was copied along is read" "$(cat "$OUT")" "from the log"
survives "a log that was copied along"
cp "$T/case/run.sqlite-wal" "$T/log"
for cut in 5000 100 20; do
    head -c $cut "$T/log" >"$T/case/run.sqlite-wal"
    survives "a log cut at $cut bytes"
done
{ head -c 32 "$T/log"; head -c 60000 /dev/urandom; } >"$T/case/run.sqlite-wal"
survives "a log of noise"

# -- JUnit from hostile texts
fresh
sqlite3 "$T/case/run.sqlite" "UPDATE meta SET value = value || ']]><x a=\"&' || char(27, 8238) WHERE section IN ('config', 'environment') AND typeof(value) = 'text'"
run "$PP" compare "$OTHER" "$T/case/run.sqlite" --junit "$T/junit.xml" --allow-env all
if command -v python3 >/dev/null; then
    check "JUnit stays well-formed" python3 -c "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])" "$T/junit.xml"
else
    skip "JUnit stays well-formed" "python3 is not installed"
fi

# -- the file of a history is opened to write: its journal too may name another file
fresh
"$PP" history add "$SOUND" --db "$T/case/run.sqlite.history" --label first >/dev/null 2>&1
echo "years of work" >"$T/case/precious.txt"
journal "$T/case/run.sqlite.history-journal" "$T/case/precious.txt"
refuses "a history whose journal names another file" 4 "history.*names another file" "$PP" history show --db "$T/case/run.sqlite.history"
check "and that file is still there" test -s "$T/case/precious.txt"
mkfifo "$T/case/pipe"
refuses "a pipe in place of a history" 4 "history.*pipe is not a regular file" "$PP" history show --db "$T/case/pipe"

# -- a file-size limit is a sentence, and leaves nothing half-written
mkdir "$T/limited"
for words in "report $SOUND -o $T/limited/x.html" "export $SOUND --to chrome -o $T/limited/x.json" "compare $OTHER $SOUND -o $T/limited/x.txt --format json"; do
    # shellcheck disable=SC2086
    refuses "ulimit -f: ${words%% *}" 4 "limited/x.*File too large" bash -c "ulimit -f 1; exec '$PP' $words"
done
is "and nothing is left" "$(ls -A "$T/limited")" ""
done_testing

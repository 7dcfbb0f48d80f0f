#!/bin/bash
# make quick: a changed source chooses the unit tests that link it and the scripts of its command, and no others; git says what changed; and a failing test fails it.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
need_built unit "$BUILD/tests/unit/probe/base/test_hist"
command -v git >/dev/null || skip_all "git is not installed"

run env BUILD="$BUILD" bash tests/quick.sh --list --changed probe/base/hist.c
is "a source: exit code" "$rc" 0
like "it chooses the test of its module" "$(cat "$OUT")" "^chosen +tests/unit/probe/base/test_hist: links probe/base/hist.o"
is "and no test that does not link it" "$(grep -c 'tests/unit/probe/decode/\|tests/unit/probe/loader/' "$OUT")" 0
like "the checks always" "$(cat "$OUT")" "check_layers.sh"
run env BUILD="$BUILD" bash tests/quick.sh --list --changed probe/base/hist.h
like "a header chooses those whose objects include it" "$(cat "$OUT")" "test_hist: .*made from probe/base/hist.h"
run env BUILD="$BUILD" bash tests/quick.sh --list --changed tui/cli/plan.c
like "a command chooses its scripts" "$(cat "$OUT")" "^chosen +tests/e2e/plan_shows_the_order.sh: calls plan"
is "and not those of others" "$(grep -c 'exports_hold' "$OUT")" 0
run env BUILD="$BUILD" bash tests/quick.sh --list --changed docs/guide/dashboard.md
like "a page chooses the tests that read it" "$(cat "$OUT")" "test_dash_keys: names docs/guide/dashboard.md"
run env BUILD="$BUILD" bash tests/quick.sh --list --changed tests/e2e/prove_measures_the_fix.sh
like "a slow script is named, and not chosen" "$(cat "$OUT")" "^left out tests/e2e/prove_measures_the_fix.sh"

# A repository of its own: nothing changed; then a tracked file, then one that git does not know yet.
mkdir -p "$T/repo/tests/e2e" "$T/repo/$BUILD/tests/unit"
cp tests/quick.sh tests/run.sh "$T/repo/tests"
printf '#!/bin/bash\n# quick\necho "ok 1 - fine"; echo 1..1\n' >"$T/repo/tests/e2e/a.sh"
for check in layers links format; do printf 'echo "ok 1 - %s"; echo 1..1\n' $check >"$T/repo/tests/check_$check.sh"; done
printf '#!/bin/sh\n' >"$T/repo/$BUILD/pipeprobe"
chmod +x "$T/repo/$BUILD/pipeprobe"
printf 'build/\n' >"$T/repo/.gitignore"
printf 'all unit helpers:\n\t@:\n' >"$T/repo/Makefile"
in_repo() { env -u GIT_DIR -u GIT_WORK_TREE -u MAKEFLAGS -u MAKE BUILD="$BUILD" "$@"; }
git_repo() { in_repo git -C "$T/repo" -c user.name=t -c user.email=t@t "$@" >/dev/null 2>&1; }
git_repo init && git_repo add -A && git_repo commit -m first
run in_repo bash "$T/repo/tests/quick.sh"
is "nothing changed: exit code" "$rc" 0
like "nothing changed: says so" "$(cat "$OUT")" "nothing changed against HEAD"
echo '# a change' >>"$T/repo/tests/e2e/a.sh"
run in_repo bash "$T/repo/tests/quick.sh"
is "a script that was changed runs" "$rc: $(tail -n 1 "$OUT")" "0: 4 passed, 0 failed, 0 skipped"
sed -i 's/^echo "ok/echo "not ok/' "$T/repo/tests/e2e/a.sh"
run in_repo bash "$T/repo/tests/quick.sh"
is "and fails the whole when it fails" "$rc: $(tail -n 1 "$OUT")" "1: 3 passed, 1 failed, 0 skipped"
cp "$T/repo/tests/e2e/a.sh" "$T/repo/tests/e2e/b.sh"
run in_repo bash "$T/repo/tests/quick.sh" --list
like "a new file counts as changed" "$(cat "$OUT")" "changed +tests/e2e/b.sh"
done_testing

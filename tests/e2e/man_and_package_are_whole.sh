#!/bin/bash
# Man pages and completion say what --help says; make install puts all of it in place and make uninstall takes it away; the Debian package
# installs, runs and is removed cleanly.
. "$(dirname "$0")/../lib.sh"
need_pipeprobe
need_built helpers "$BUILD/mk/tools/gen_docs"

quiet_make() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s DIST="$T/dist" "$@"; }
commands=$("$PP" help | sed -n '/^Record:/,/^Guides/s/^  \([a-z-]*\) .*/\1/p' | grep -v '^help$')
check "there are commands" test "$(wc -w <<<"$commands")" -ge 4

# ---- man pages ----
DOCS=$T/docs
run "$BUILD/mk/tools/gen_docs" "$DOCS"
is "the pages are made" "$rc" 0
for command in '' $commands; do
    name=pipeprobe${command:+-$command}
    cp "$DOCS/man1/$name.1" "$T/page.1"
    for section in NAME SYNOPSIS DESCRIPTION 'EXIT STATUS' ENVIRONMENT 'SEE ALSO'; do
        grep -q "^.SH $section\$" "$T/page.1" || fail "$name(1) has $section" < <(head -n 20 "$T/page.1")
    done
    if command -v groff >/dev/null; then
        LC_ALL=C.UTF-8 groff -man -Tutf8 -ww -P-c "$T/page.1" >"$T/page" 2>"$T/warnings"
        is "$name(1) formats without a warning" "$(cat "$T/warnings")" ""
    else
        skip "$name(1) formats without a warning" "groff is not installed"
    fi
    missing=
    for option in $([ -z "$command" ] || "$PP" $command --help-all | grep -oE '^ +(-., )?--(\[no-\])?[a-z0-9-]+' | grep -oE '[a-z0-9][a-z0-9-]*$'); do
        grep -qF -- "${option//-/\\-}\\fR" "$T/page.1" || missing="$missing --$option"
    done
    is "$name(1) has every option of --help-all" "$missing" ""
done
# The keys of the dashboard: those of its page, which test_dash_keys compares with the program's table.
sed -n '/^\.SH KEYS/,/^\.SH NOTES/{/^\.SH/d; /^\.TP/d; s/\\f[BR]//g; s/\\&//g; s/\\-/-/g; s/\\e/\\/g; p}' "$DOCS/man1/pipeprobe-top.1" >"$T/keys"
sed -n '/^## Keys/,/^## Small/s/^| `\(.*\)`\(.*\) | \(.*\) |$/\1\2\n\3/p' docs/guide/dashboard.md >"$T/keys.page"
check "pipeprobe-top(1) has every key" diff "$T/keys.page" "$T/keys"
holds "and they are many" "$(wc -l <"$T/keys") > 60"
is "a page per command, and no other" "$(ls "$DOCS/man1" | wc -l)" "$(($(wc -w <<<"$commands") + 1))"
refuses "a generator without a directory" 2 "usage: gen_docs DIR" "$BUILD/mk/tools/gen_docs"
refuses "a directory that cannot be made" 1 "Not a directory" "$BUILD/mk/tools/gen_docs" "$OUT/docs"
refuses "the program itself makes none" 2 "unknown option" "$PP" help --man

# ---- completion ----
cp "$DOCS/pipeprobe.bash" "$T/pipeprobe.bash"
check "bash can read its completion" bash -n "$T/pipeprobe.bash"
complete_in_bash() { # WORD...: what is offered for the last
    bash -c '. "$0"; COMP_WORDS=(pipeprobe "$@"); COMP_CWORD=$#; _pipeprobe; echo "${COMPREPLY[*]}"' "$T/pipeprobe.bash" "$@" 2>/dev/null
}
is "commands are completed" "$(complete_in_bash rep)" "report"
is "options are completed" "$(complete_in_bash report --form)" "--format"
is "their values are completed" "$(complete_in_bash report --format ht)" "html"
is "short options' values are file names" "$(cd "$T" && complete_in_bash report -o page.)" "page.1"
is "subcommands are completed" "$(complete_in_bash ci ''), $(complete_in_bash history a), $(complete_in_bash ci baseline u)" "run baseline, add, update"
is "names of faults are completed" "$(complete_in_bash run --inject read-lat)" "read-latency="
is "names of knobs are completed" "$(complete_in_bash whatif --set num)" "num_workers="
is "names of maps are completed" "$(complete_in_bash exec --map py)" "pytorch"
is "after help there are commands, and --all behind one" "$(complete_in_bash help rep), $(complete_in_bash help --), $(complete_in_bash help report --)" "report, , --all"
is "topics of help and codes of verdicts are completed" "$(complete_in_bash help first), $(complete_in_bash explain under), $(complete_in_bash first)" "first-run, under-parallel, "
is "version is a word too" "$(complete_in_bash vers), $("$PP" version)" "version, $("$PP" --version)"
is "help --all is --help-all" "$("$PP" help run --all)" "$("$PP" run --help-all)"
if command -v fish >/dev/null; then
    check "fish can read its completion" fish -n "$DOCS/pipeprobe.fish"
else
    skip "fish can read its completion" "fish is not installed"
fi
is "fish knows every option of report" "$(grep -c 'subcommand_from report. -l' "$DOCS/pipeprobe.fish")" "$("$PP" report --help-all | grep -cE '^ +(-., )?--')"
is "every summary in pipeprobe(1) is a sentence" "$(sed -n '/^.SH COMMANDS/,/^.SH EXIT/p' "$DOCS/man1/pipeprobe.1" | grep -v '^[.]\|^See ' | grep -vc '^[A-Z].*[.]$')" 0
is "the two forms of ci stand on lines of their own" "$(sed -n '/^.SH SYNOPSIS/,/^.fi/p' "$DOCS/man1/pipeprobe-ci.1" | grep -c '^.fBpipeprobe')" 2
cp "$DOCS/_pipeprobe" "$T/_pipeprobe"
if command -v zsh >/dev/null; then
    check "zsh can read its completion" zsh -n "$T/_pipeprobe"
else
    skip "zsh can read its completion" "zsh is not installed"
fi
is "zsh knows every command" "$(grep -c -E "^        ($(tr '\n' '|' <<<"$commands" | sed 's/|$//'))\) _arguments" "$T/_pipeprobe")" "$(wc -w <<<"$commands")"

# ---- install ----
run quiet_make install DESTDIR="$T/stage" PREFIX=/usr
is "make install" "$rc" 0
for f in bin/pipeprobe share/man/man1/pipeprobe.1 share/man/man1/pipeprobe-report.1 share/bash-completion/completions/pipeprobe share/zsh/site-functions/_pipeprobe share/fish/vendor_completions.d/pipeprobe.fish; do
    check "$f" test -s "$T/stage/usr/$f"
done
run quiet_make uninstall DESTDIR="$T/stage" PREFIX=/usr
is "make uninstall leaves no file" "$(find "$T/stage" -type f)" ""
run quiet_make install DOCS= DESTDIR="$T/bare" PREFIX=/usr
check "make install DOCS= leaves them out" test -x "$T/bare/usr/bin/pipeprobe" -a ! -e "$T/bare/usr/share/man"

# ---- the package ----
if ! command -v dpkg-deb >/dev/null || ! command -v dpkg-shlibdeps >/dev/null; then
    skip "make deb" "dpkg-dev is not installed"
    done_testing
fi
run quiet_make deb
is "make deb" "$rc" 0
deb=$(tail -n 1 "$OUT")
check "the package is there" test -s "$deb"
is "its name" "$(dpkg-deb -f "$deb" Package Architecture | tr '\n' ' ')" "Package: pipeprobe Architecture: $(dpkg --print-architecture) "
like "it depends on what it is linked with" "$(dpkg-deb -f "$deb" Depends)" 'libsqlite3.*'
dpkg-deb -c "$deb" >"$T/contents"
is "everything belongs to root and lies in /usr" "$(grep -vE ' root/root .* \./(usr/|usr$|$)' "$T/contents")" ""
dpkg-deb -x "$deb" "$T/x"
run "$T/x/usr/bin/pipeprobe" --version
is "the packaged program runs" "$rc" 0
run env PYTHONPATH="$T/x/usr/lib/python3/dist-packages" python3 -c 'import pipeprobe; from pipeprobe._program import program; print(program())'
is "Debian's python3 imports its module" "$rc $(cat "$OUT")" "0 $T/x/usr/bin/pipeprobe"
(cd "$T/x" && dpkg-deb --ctrl-tarfile "$deb" | tar -xO ./md5sums | md5sum -c --quiet) >"$T/sums" 2>&1
is "its checksums hold" "$(cat "$T/sums")" ""
if [ "$(id -u)" -ne 0 ]; then
    skip "install and remove" "needs root, for dpkg --root"
else
    root=$T/root
    mkdir -p "$root/var/lib/dpkg/"{info,updates} "$root/var/log"
    : >"$root/var/lib/dpkg/status"
    run dpkg --root="$root" --force-depends --log=/dev/null -i "$deb"
    is "dpkg installs it" "$rc" 0
    like "and knows it" "$(dpkg --root="$root" -s pipeprobe 2>/dev/null)" 'Status: install ok (installed|unpacked)'
    check "the program is in place" test -x "$root/usr/bin/pipeprobe"
    run dpkg --root="$root" --log=/dev/null --purge pipeprobe
    is "dpkg removes it" "$rc" 0
    is "nothing of it is left" "$(find "$root" -path "$root/var" -prune -o -type f -print)" ""
fi
if command -v lintian >/dev/null; then
    run lintian --fail-on error,warning "$deb"
    is "lintian finds neither error nor warning" "$rc" 0
else
    skip "lintian finds neither error nor warning" "lintian is not installed"
fi
done_testing

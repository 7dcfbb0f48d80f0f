#!/bin/bash
# tests/deps.sh installs only what is missing, refreshes the lists only when it must, and says in one sentence what it could not get.
. "$(dirname "$0")/../lib.sh"

# A machine without libjpeg: a compiler that does not know its header, and an apt-get that logs what it is asked.
mkdir "$T/bin"
REAL_CC=$(command -v "${CC:-cc}")
stand_in() { printf '#!/bin/bash\n%s\n' "$2" >"$T/bin/$1"; chmod +x "$T/bin/$1"; }
stand_in cc "for a; do case \$a in *.c) grep -q 'jpeglib.h' \"\$a\" && [ ! -e $T/installed ] && exit 1 ;; esac; done; exec env PATH='$PATH' $REAL_CC \"\$@\""
stand_in id 'echo 0'
deps() {
    rm -f "$T/apt.log" "$T/installed"
    run env PATH="$T/bin:$PATH" CC="$T/bin/cc" bash tests/deps.sh build
}

if ! CC=$REAL_CC bash tests/deps.sh build >/dev/null 2>&1; then skip_all "the build packages are not installed"; fi

# A make that installs nothing itself names what is missing and what installs it, before it compiles. Where pkg-config finds everything nothing is asked.
stand_in pkg-config 'exit 1'
for target in all unit; do
    run env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL PATH="$T/bin:$PATH" make -j2 B="$T/build" CC="$T/bin/cc" "$target"
    is "make $target without a package: exit code, objects" "$rc $(find "$T/build" -name '*.o' 2>/dev/null | wc -l)" "2 0"
    is "make $target without a package: the sentence" "$(grep -c . "$OUT") $(grep -v '^make: ' "$ERR")" "0 pipeprobe needs these Debian packages: libjpeg-dev. Install them with: make deps"
done
rm "$T/bin/pkg-config"

stand_in apt-get "echo \"\$*\" >>$T/apt.log; touch $T/installed"
deps
is "the missing package is installed" "$rc" 0
like "by name" "$(cat "$T/apt.log")" " install .*libjpeg-dev"
check "and no other" bash -c "! grep -qE 'libpng-dev|sqlite3' '$T/apt.log'"
check "without refreshing the lists" bash -c "! grep -q ' update' '$T/apt.log'"

stand_in apt-get "echo \"\$*\" >>$T/apt.log; case \$* in *update*) touch $T/fresh ;; *install*) [ -e $T/fresh ] || exit 100; touch $T/installed ;; esac"
deps
is "stale lists are refreshed and the install tried again" "$rc" 0
is "update once, install twice" "$(grep -c ' update' "$T/apt.log") $(grep -c ' install' "$T/apt.log")" "1 2"

stand_in apt-get 'echo "E: Could not resolve the archive"; exit 100'
deps
is "no network: exit code" "$rc" 1
like "no network: apt-get's words" "$(cat "$ERR")" "Could not resolve"
like "no network: the sentence" "$(tail -n 1 "$ERR")" "^pipeprobe needs these Debian packages: libjpeg-dev;"

stand_in id 'echo 1000'
stand_in sudo 'echo "sudo: a password is required" >&2; exit 1'
deps
is "no rights: exit code" "$rc" 1
like "no rights: the sentence" "$(tail -n 1 "$ERR")" "^pipeprobe needs these Debian packages: libjpeg-dev;"

# Servers are unpacked: installed they would start.
mkdir -p "$T/debs"
for program in prometheus:promtool prometheus-node-exporter:prometheus-node-exporter prometheus-pushgateway:prometheus-pushgateway nginx:nginx; do
    package=${program%%:*}
    mkdir -p "$T/tree-$package/DEBIAN" "$T/tree-$package/usr/bin"
    printf 'Package: %s\nVersion: 1\nArchitecture: all\nMaintainer: a\nDescription: a\n' "$package" >"$T/tree-$package/DEBIAN/control"
    printf '#!/bin/sh\n' >"$T/tree-$package/usr/bin/${program#*:}"
    chmod +x "$T/tree-$package/usr/bin/${program#*:}"
    dpkg-deb -b "$T/tree-$package" "$T/debs/$package.deb" >/dev/null 2>&1
done
if PATH=/usr/bin:/bin command -v promtool prometheus-node-exporter prometheus-pushgateway >/dev/null; then
    skip "servers are unpacked" "they are installed here"
else
    stand_in apt-get "echo \"\$*\" >>$T/apt.log; case \$* in *download*) shift 2; for p; do cp $T/debs/\$p.deb . || exit 100; done ;; esac"
    rm -f "$T/apt.log"
    run env PATH="$T/bin:/usr/bin:/bin" CC="$REAL_CC" VENVS="$T/venvs" bash tests/deps.sh servers
    is "servers are unpacked, not installed" "$rc $(grep -c download "$T/apt.log") $(grep -c install "$T/apt.log")" "0 1 0"
    check "where the tests look for them" test -x "$T/venvs/servers/usr/bin/prometheus-pushgateway"
    run env PATH="$T/bin:/usr/bin:/bin" CC="$REAL_CC" VENVS="$T/venvs" bash tests/deps.sh servers
    is "once" "$rc $(cat "$OUT" "$ERR")" "0 "
fi

run env CC=no-such-compiler bash tests/deps.sh build
like "no compiler" "$(cat "$ERR")" "C compiler.*gcc"

stand_in apt-get "echo \"\$*\" >>$T/apt.log"
rm "$T/bin/cc" # a REAL_CC that is ccache looks for the next cc on the path
run env PATH="$T/bin:$PATH" CC="$REAL_CC" bash tests/deps.sh build
is "nothing missing: exit code" "$rc" 0
is "nothing missing: nothing said, nothing run" "$(cat "$OUT" "$ERR")" ""
done_testing

#!/bin/bash
# tests/deps.sh [--missing] SET: finds out which packages of the set are missing and installs only these, by their Debian names. The sets: build, python, decoders, formats,
# remote, metrics, test, checkers, speed, peers, servers, cuda, nsight, portable, cross. --missing installs nothing: it names them, and the command that does.
#
# Found by trying: a program by `command -v`, a library by compiling and linking a three-line program. Nothing missing means nothing
# is run. As root apt-get is called, else through sudo; when it cannot be done, one sentence says what is needed.
# The servers are unpacked below build/venvs/servers and not installed: an installed one would start, take its port, and start again with the machine.
set -u
CC=${CC:-cc}
unpacked=$(realpath -m "${VENVS:-build/venvs}")/servers

# package | what it is found by | for "link": header, libraries; for "run": a command; for "python": a module
rows() {
    case $1 in
    build)
        cat <<'ROWS'
libc6-dev|link|stdio.h|
pkgconf|run|pkg-config|
libjpeg-dev|link|jpeglib.h|-ljpeg
libpng-dev|link|png.h|-lpng
libsqlite3-dev|link|sqlite3.h|-lsqlite3
libarchive-dev|link|archive.h|-larchive
libxxhash-dev|link|xxhash.h|-lxxhash
libzstd-dev|link|zstd.h|-lzstd
zlib1g-dev|link|zlib.h|-lz
libjansson-dev|link|jansson.h|-ljansson
libncurses-dev|link|ncurses.h|-lncursesw
sqlite3|run|sqlite3|
ROWS
        ;;
    python) # for the extension that records PyTorch jobs; the build does without
        cat <<'ROWS'
python3-dev|run|python3-config|
ROWS
        ;;
    remote) # for data sets behind http:// and s3://; the build does without
        cat <<'ROWS'
libcurl4-openssl-dev|link|curl/curl.h|
ROWS
        ;;
    metrics) # for --metrics, --metrics-push, --otlp and --mlflow; the build does without
        cat <<'ROWS'
libmicrohttpd-dev|link|microhttpd.h|-lmicrohttpd
libcurl4-openssl-dev|link|curl/curl.h|
ROWS
        ;;
    decoders) # for image formats beside JPEG and PNG; the build does without
        cat <<'ROWS'
libwebp-dev|link|webp/decode.h|-lwebp
ROWS
        ;;
    formats) # for files of columns: opened when one needs them; the build does without
        cat <<'ROWS'
libsnappy1v5|link||-l:libsnappy.so.1
liblz4-1|link||-l:liblz4.so.1
libhdf5-103-1|link||-l:libhdf5_serial.so.103
ROWS
        ;;
    test)
        cat <<'ROWS'
libcmocka-dev|link|stdarg.h stddef.h stdint.h setjmp.h cmocka.h|-lcmocka
g++|run|c++|
tmux|run|tmux|
libfuse3-dev|link|fuse3/fuse_opt.h|-lfuse3
mpich|run|mpiexec|
procps|run|pgrep|
ROWS
        ;;
    checkers)
        cat <<'ROWS'
clang-format-14|run|clang-format-14|
dpkg-dev|run|dpkg-shlibdeps|
groff-base|run|groff|
libxml2-utils|run|xmllint|
lintian|run|lintian|
man-db|run|man|
tidy|run|tidy|
zsh|run|zsh|
ROWS
        ;;
    speed) # objects are kept by it across clean builds; the build does without
        cat <<'ROWS'
ccache|run|ccache|
ROWS
        ;;
    peers)
        cat <<'ROWS'
python3|run|/usr/bin/python3|
python3-numpy|python|numpy|
python3-pil|python|PIL|
python3-torch|python|torch|
python3-torchvision|python|torchvision|
ROWS
        ;;
    servers) # whose words metrics are written in, and one that data is read from
        cat <<'ROWS'
prometheus|run|promtool|
prometheus-node-exporter|run|prometheus-node-exporter|
prometheus-pushgateway|run|prometheus-pushgateway|
nginx|run|nginx|
ROWS
        ;;
    cuda)
        cat <<'ROWS'
nvidia-cuda-dev|link|cuda.h|
libcupti-dev|link|stdint.h cuda.h cupti.h|
nsight-systems|run|nsys|
ROWS
        ;;
    cross) # for make wheel-aarch64
        cat <<'ROWS'
gcc-aarch64-linux-gnu|run|aarch64-linux-gnu-gcc|
ROWS
        ;;
    portable)
        cat <<'ROWS'
zlib1g-dev|link|zlib.h|-l:libz.a
nettle-dev|link||-l:libnettle.a
libacl1-dev|link||-l:libacl.a
liblzma-dev|link||-l:liblzma.a
liblz4-dev|link||-l:liblz4.a
libbz2-dev|link||-l:libbz2.a
libxml2-dev|link||-l:libxml2.a
libicu-dev|link||-l:libicuuc.a
ROWS
        ;;
    nsight)
        cat <<'ROWS'
nsight-systems|run|nsys|
ROWS
        ;;
    esac
}

links() { # HEADERS LIBRARIES
    local dir ok header
    dir=$(mktemp -d) || return 1
    { echo '#include <stdio.h>'; for header in $1; do echo "#include <$header>"; done; echo 'int main(void) { return 0; }'; } >"$dir/probe.c"
    # shellcheck disable=SC2086
    "$CC" -o "$dir/probe" "$dir/probe.c" $2 >/dev/null 2>&1
    ok=$?
    rm -rf "$dir"
    return $ok
}

found() { # KIND WHAT LIBRARIES
    case $1 in
    link) links "$2" "$3" ;;
    run) PATH=$PATH:/usr/sbin command -v "$2" >/dev/null ;;
    python) /usr/bin/python3 -c "import importlib.util as u, sys; sys.exit(u.find_spec('$2') is None)" 2>/dev/null ;;
    esac
}

missing() {
    local package kind what libs
    while IFS='|' read -r package kind what libs; do
        found "$kind" "$what" "$libs" || echo "$package"
    done < <(rows "$1")
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"
    elif [ -t 0 ]; then sudo "$@"
    else sudo -n "$@"; fi
}

# RUNLEVEL: a server that a package brings is not started by init scripts.
apt() { as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -q -o DPkg::Lock::Timeout=300 "$@"; }

# The lists are refreshed only when the first try shows that they are absent or stale.
install_packages() {
    apt install -y --no-install-recommends "$@" >"$log" 2>&1 && return
    apt update >>"$log" 2>&1
    apt install -y --no-install-recommends "$@" >>"$log" 2>&1
}

# Any user may: only stale lists take root.
unpack_packages() {
    local dir status=0
    dir=$(mktemp -d) || return 1
    (cd "$dir" && { apt-get -q download "$@" || { apt update && apt-get -q download "$@"; }; }) >"$log" 2>&1 || status=1
    [ $status -eq 0 ] && mkdir -p "$unpacked" && for package in "$dir"/*.deb; do dpkg-deb -x "$package" "$unpacked" 2>>"$log" || status=1; done
    rm -rf "$dir"
    return $status
}

# Debian keeps CUDA in contrib and non-free: the archive this machine uses already is asked for them too. A source that names its key
# must be named with the same key again, hence the second try.
add_non_free() {
    local uri suite option list=/etc/apt/sources.list.d/pipeprobe-non-free.list
    apt-cache show "$1" >/dev/null 2>&1 && return
    read -r uri suite < <(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 'Component: main' | grep -Ev -- '-(updates|security|backports)' | head -n 1)
    [ -n "${suite:-}" ] || return
    for option in "" "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "; do
        echo "deb $option$uri $suite contrib non-free" | as_root tee $list >/dev/null
        apt update >"$log" 2>&1 && return
    done
    as_root rm -f $list
}

only_name=
[ "${1:-}" != --missing ] || { only_name=1; shift; }
set=${1:?usage: tests/deps.sh [--missing] build|python|decoders|formats|remote|metrics|test|checkers|speed|peers|servers|cuda|nsight|portable|cross}
[ "$set" != servers ] || PATH=$PATH:$unpacked/usr/bin:$unpacked/usr/sbin:/usr/sbin
command -v "$CC" >/dev/null || { echo "pipeprobe needs a C compiler: on Debian the package gcc (looked for $CC)." >&2; exit 1; }
packages=$(missing "$set" | tr '\n' ' ')
[ -n "$packages" ] || exit 0
packages=${packages% }

sentence="pipeprobe needs these Debian packages: $packages"
[ -z "$only_name" ] || { echo "$sentence. Install them with: make deps" >&2; exit 1; }
if ! command -v apt-get >/dev/null; then
    echo "$sentence. There is no apt-get here; please install what your system calls them." >&2
    exit 1
fi
if [ "$set" != servers ] && [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    echo "$sentence. Please install them as root: apt-get install $packages" >&2
    exit 1
fi
how=install_packages
[ "$set" != servers ] || how=unpack_packages
echo "${how%_packages}ing: $packages"
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
case $set in
cuda) add_non_free libcupti-dev ;;
nsight) add_non_free nsight-systems ;;
esac
# shellcheck disable=SC2086
if ! $how $packages; then
    grep -E '^(E:|sudo:)' "$log" | tail -n 3 >&2
    echo "$sentence; apt-get could not ${how%_packages} them (its words are above)." >&2
    exit 1
fi
packages=$(missing "$set" | tr '\n' ' ')
[ -z "$packages" ] || { echo "pipeprobe still does not find what it needs of: ${packages% } (installed, but the probe fails; try CC=gcc)." >&2; exit 1; }

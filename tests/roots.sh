#!/bin/bash
# tests/roots.sh: fresh root file systems of distributions take the wheel (pip, in a virtual environment) and record the README's job, train.py of
# tests/recordings with the distribution's own PyTorch, or PyPI's where it has none from 1.13 on (5 GB). Needs root, debootstrap and the distributions' packages; what is
# not to be had is skipped by name.
#
# ROOTS=DIR keeps them (build/roots, 1.5 GB each). ONLY=REGEX chooses rows. WHEEL names the wheel (build/pipeprobe-*.whl, make wheel), WHEEL_AARCH64 that of
# make wheel-aarch64, which runs by qemu-user where the kernel knows it (binfmt_misc).
. "$(dirname "$0")/lib.sh"
ROOTS=${ROOTS:-$PWD/build/roots} ONLY=${ONLY:-.} WHEEL=${WHEEL:-$(ls -t build/pipeprobe-*.whl 2>/dev/null | head -1)}
WHEEL_AARCH64=${WHEEL_AARCH64:-$(ls -t build/aarch64/pipeprobe-*.whl 2>/dev/null | head -1)}
[ -s "$WHEEL" ] || skip_all "there is no wheel: make wheel"
[ "$(id -u)" = 0 ] || skip_all "chroot needs root"

# name | suite | mirror | keyring | what else apt looks into | another machine
rows() {
    cat <<'ROWS'
Debian 12|bookworm|http://deb.debian.org/debian|debian-archive-keyring||
Debian 13|trixie|http://deb.debian.org/debian|debian-archive-keyring||
Debian 12 on aarch64|bookworm|http://deb.debian.org/debian|debian-archive-keyring||arm64
Ubuntu 20.04|focal|http://archive.ubuntu.com/ubuntu|ubuntu-archive-keyring|universe|
Ubuntu 22.04|jammy|http://archive.ubuntu.com/ubuntu|ubuntu-archive-keyring|universe|
Ubuntu 24.04|noble|http://archive.ubuntu.com/ubuntu|ubuntu-archive-keyring|universe|
ROWS
}

# The root's own /proc, /sys and /dev/shm, gone with the command.
inside() { # ROOT COMMAND...
    local root=$1
    shift
    unshare -m sh -c 'mount -t proc proc "$0/proc" && mount -t sysfs -o ro sysfs "$0/sys" && mount -t tmpfs shm "$0/dev/shm" && exec chroot "$0" "$@"' "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"
}

# Where the distribution has none, or one before 1.13, of which no worker is recorded. Fetched by this machine's pip, which knows how to reach it.
torch_of_pypi() { # ROOT
    ! inside "$1" python3 -c 'import sys, torch; sys.exit(tuple(map(int, torch.__version__.split(".")[:2])) < (1, 13))' || return 0
    local version=$(inside "$1" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    # shellcheck disable=SC2046
    timeout 900 python3 -m pip install -q --no-cache-dir --retries 1 --only-binary :all: --python-version "$version" \
        $(printf -- "--platform manylinux_2_%d_$(uname -m) " {28..5}) --platform "manylinux2014_$(uname -m)" --target "$1/usr/local/lib/python$version/dist-packages" torch torchvision
}

# Sets $why where it cannot be had.
make_root() { # SUITE MIRROR KEYRING COMPONENTS ARCHITECTURE
    local root=$ROOTS/$1${5:+-$5}
    if [ -n "$5" ] && [ "$(uname -m)" != aarch64 ]; then
        why="there is no wheel for aarch64: make wheel-aarch64"
        [ -s "$WHEEL_AARCH64" ] || return 1
        why="the kernel does not start aarch64's programs: apt-get install qemu-user-static, and with binfmt_misc mounted: cat /usr/lib/binfmt.d/qemu-aarch64.conf >/proc/sys/fs/binfmt_misc/register"
        [ -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ] || return 1
    fi
    [ ! -e "$root.done" ] || return 0
    why="debootstrap is not installed"
    command -v debootstrap >/dev/null || return 1
    why="/usr/share/keyrings has no $3 (apt-get install $3, or that file of the mirror's package ubuntu-keyring)"
    ls "/usr/share/keyrings/$3".* >/dev/null 2>&1 || return 1
    mkdir -p "$ROOTS" && rm -rf "$root"
    local script=/usr/share/debootstrap/scripts/$1 # an older debootstrap knows no newer Ubuntu, whose script is that of all
    [ -e "$script" ] || script=${script%/*}/gutsy
    timeout 1800 debootstrap ${5:+--arch="$5"} --variant=minbase --components="main${4:+,$4}" --include=python3,python3-venv,python3-pip,procps "$1" "$root" "$2" "$script" >"$T/root.log" 2>&1 &&
        { inside "$root" apt-get install -y -qq --no-install-recommends python3-torch python3-torchvision python3-pil; torch_of_pypi "$root"; } >>"$T/root.log" 2>&1 && touch "$root.done"
    why="no root file system: $(grep -E '^[EW]:' "$T/root.log" | tail -n 1)"
    [ -e "$root.done" ]
}

tried() { # NAME ROOT WHEEL
    local name=$1 root=$2 home=$2/tmp/pipeprobe WHEEL=$3
    rm -rf "$home" && mkdir -p "$home"
    cp "$WHEEL" tests/recordings/train.py "$home" && cp -r "$T/images" "$home"
    run inside "$root" python3 -m venv --system-site-packages /tmp/pipeprobe/env
    is "$name: a virtual environment" "$rc" 0
    if ! inside "$root" /tmp/pipeprobe/env/bin/python -c 'import pip, sys; sys.exit(tuple(map(int, pip.__version__.split(".")[:2])) < (20, 3))'; then
        run inside "$root" /tmp/pipeprobe/env/bin/pip install -q --no-index "/tmp/pipeprobe/$(basename "$WHEEL")"
        like "$name: a pip before 20.3 says what the guide knows" "$rc $(cat "$ERR")" "^1 .*is not a supported wheel on this platform"
        python3 -m pip download -q --no-deps --only-binary :all: --python-version "$(inside "$root" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')" -d "$home" pip
        run inside "$root" sh -c '/tmp/pipeprobe/env/bin/python -m pip install -q --no-index /tmp/pipeprobe/pip-*.whl'
        is "$name: pip is upgraded" "$rc" 0
    fi
    run inside "$root" /tmp/pipeprobe/env/bin/pip install -q --no-index "/tmp/pipeprobe/$(basename "$WHEEL")"
    is "$name: pip install" "$rc $(cat "$ERR")" "0 "
    like "$name: its Python, glibc and PyTorch" "$(inside "$root" /tmp/pipeprobe/env/bin/python -c 'import os, sys, torch; print("Python", sys.version.split()[0], os.confstr("CS_GNU_LIBC_VERSION"), "PyTorch", torch.__version__)')" "^Python 3\."
    echo "# $name: $(inside "$root" /tmp/pipeprobe/env/bin/python -c 'import os, sys, torch; print("Python", sys.version.split()[0], os.confstr("CS_GNU_LIBC_VERSION"), "PyTorch", torch.__version__)')"
    run inside "$root" sh -c 'cd /tmp/pipeprobe && timeout 400 env/bin/pipeprobe exec -o train.sqlite -- env/bin/python train.py images'
    is "$name: the job's status" "$rc" 0
    like "$name: the first screen" "$(cat "$ERR" "$OUT")" "Training runs at [0-9.]+ samples/s and waits for data [0-9]+ % of the time|INCONCLUSIVE|inconclusive"
    is "$name: every hook fits" "$(sql "$home/train.sqlite" "SELECT value FROM meta WHERE section = 'process_note'")" \
        "$(inside "$root" python3 -c 'import sys; sys.version_info < (3, 9) and print("torchvision.io.image is not recorded (decoding, reading): TypeError: needs Python 3.9")')"
    is "$name: samples handed over" "$(sql "$home/train.sqlite" "SELECT sum(samples) FROM v_span WHERE phase = 'data_wait'")" 240
    rm -rf "$home"
}

# samples/container/Containerfile on Debian's Python, which stands for python:3.12-slim where no registry of images can be reached.
container() {
    local root=$ROOTS/slim store="--root $T/images.store --runroot $T/images.run --storage-driver vfs"
    command -v buildah >/dev/null || { skip "the image" "buildah is not installed (apt-get install buildah)"; return; }
    if [ ! -e "$root.done" ]; then
        rm -rf "$root"
        timeout 600 debootstrap --variant=minbase --include=python3,python3-pip bookworm "$root" http://deb.debian.org/debian >"$T/root.log" 2>&1 && touch "$root.done"
        [ -e "$root.done" ] || { skip "the image" "no root file system: $(grep -E '^[EW]:' "$T/root.log" | tail -n 1)"; return; }
        ln -sf python3 "$root/usr/bin/python" && rm -f "$root"/usr/lib/python3*/EXTERNALLY-MANAGED # as in Python's own images
    fi
    mkdir "$T/context" && cp "$WHEEL" "$T/context" && tar -C "$root" -cf "$T/context/base.tar" .
    printf 'FROM scratch\nADD base.tar /\n' >"$T/base"
    # shellcheck disable=SC2086
    { buildah $store bud -q --isolation chroot -f "$T/base" -t base "$T/context" && rm "$T/context/base.tar" &&
        buildah $store bud -q --isolation chroot --build-arg BASE=localhost/base -f samples/container/Containerfile -t train "$T/context"; } >"$T/bud" 2>&1
    is "the image is built" "$? $(grep -i error "$T/bud")" "0 "
    # shellcheck disable=SC2086
    local made=$(buildah $store from train)
    # shellcheck disable=SC2086
    is "it starts pipeprobe" "$(buildah $store inspect --format '{{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}}' "$made")" "[pipeprobe] [doctor]"
    mkdir "$T/work" && echo 'print("job")' >"$T/work/job.py"
    # shellcheck disable=SC2086
    run buildah $store run --isolation chroot -v "$T/work:/work" --workingdir /work "$made" pipeprobe exec -o run.sqlite -- python job.py
    is "a job in it has its output and status" "$rc $(cat "$OUT")" "0 job"
    # shellcheck disable=SC2086
    run buildah $store run --isolation chroot "$made" pipeprobe --version
    is "and its pipeprobe is the wheel's" "$rc $(cat "$OUT")" "0 $("$PP" --version)"
}

need_pipeprobe
"$MAKE_DATASET" "$T/images" --n 240 --size 320x240 --classes 3 >/dev/null || fail "images" </dev/null
while IFS='|' read -r name suite mirror keyring components arch; do
    [[ $name =~ $ONLY ]] || continue
    if make_root "$suite" "$mirror" "$keyring" "$components" "$arch"; then tried "$name" "$ROOTS/$suite${arch:+-$arch}" "$([ -n "$arch" ] && echo "$WHEEL_AARCH64" || echo "$WHEEL")"
    else skip "$name" "$why"; fi
done < <(rows)
[[ container =~ $ONLY ]] && container
skip "RHEL 9 and its like" "their packages come by dnf alone; the wheel's tag (manylinux_2_28) admits their glibc 2.34"
done_testing

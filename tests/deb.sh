#!/bin/bash
# tests/deb.sh VERSION WORK OUT: a Debian package of what is built, from `make install`: OUT/pipeprobe_VERSION-1_ARCH.deb. Dependencies are found
# from the libraries the program is linked with. Needs dpkg-dev; no root, no debhelper. The same input gives the same bytes.
set -eu
version=$1 work=$2 out=$3
for tool in dpkg-deb dpkg-shlibdeps; do
    command -v "$tool" >/dev/null || { echo "make deb: $tool is not installed; apt-get install dpkg-dev" >&2; exit 1; }
done
arch=$(dpkg --print-architecture)
stamp=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
maintainer=${DEBMAINT:-"pipeprobe maintainers <maintainers@pipeprobe.invalid>"}
umask 022
rm -rf "$work"
mkdir -p "$work/debian" "$work/root/DEBIAN" "$out"
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s SAN= install DESTDIR="$(realpath "$work")/root" PREFIX=/usr >/dev/null
root=$(realpath "$work")/root doc=$(realpath "$work")/root/usr/share/doc/pipeprobe

# import pipeprobe, with Debian's python3
mkdir -p "$root/usr/lib/python3/dist-packages"
ln -s ../../pipeprobe/python/package/pipeprobe "$root/usr/lib/python3/dist-packages/pipeprobe"

strip --strip-unneeded "$root/usr/bin/pipeprobe"
find "$root/usr/lib" -name '*.so*' -type f -exec strip --strip-unneeded {} + 2>/dev/null || true
gzip -9n "$root"/usr/share/man/man1/*.1 "$doc/CHANGELOG.md"
mv "$doc/CHANGELOG.md.gz" "$doc/changelog.gz"
rm "$doc/LICENSE"
cat >"$doc/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: pipeprobe

Files: *
Copyright: 2026 pipeprobe contributors
License: Apache-2.0
 On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.
END
# One package on purpose: the program, and the library with what it takes to compile and link with it. No bug asks for it.
mkdir -p "$root/usr/share/lintian/overrides"
cat >"$root/usr/share/lintian/overrides/pipeprobe" <<END
pipeprobe: initial-upload-closes-no-bugs
pipeprobe: package-name-doesnt-match-sonames
pipeprobe: link-to-shared-library-in-wrong-package
pipeprobe: pkg-config-unavailable-for-cross-compilation
# opened by path in a process that pipeprobe starts, never linked with
pipeprobe: shared-library-lacks-version
END
gzip -9n >"$doc/changelog.Debian.gz" <<END
pipeprobe ($version-1) unstable; urgency=medium

  * Built from source by make deb; what is new is in changelog.gz.

 -- $maintainer  $(LC_ALL=C date -Rud "@$stamp")
END
find "$root/usr/lib" -name '*.so*' -type f -exec chmod 644 {} + 2>/dev/null || true
echo 'activate-noawait ldconfig' >"$root/DEBIAN/triggers"
# what depends on a package that links with the library
for so in "$root"/usr/lib/lib*.so.[0-9]*; do
    [ -e "$so" ] || continue
    soname=${so##*/}
    echo "${soname%.so.*} ${soname##*.so.} pipeprobe (>= $version)"
done | sort -u >"$root/DEBIAN/shlibs"
[ -s "$root/DEBIAN/shlibs" ] || rm "$root/DEBIAN/shlibs"

printf 'Source: pipeprobe\n\nPackage: pipeprobe\nArchitecture: any\nDescription: x\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O $(find root/usr/bin root/usr/lib -type f 2>/dev/null) 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
cat >"$root/DEBIAN/control" <<END
Package: pipeprobe
Version: $version-1
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: $depends
Recommends: libcurl4, libhdf5-103-1, liblz4-1, libsnappy1v5
Suggests: libmicrohttpd12
Section: utils
Priority: optional
Description: find out why a training job waits for its data
 pipeprobe exec records a PyTorch job as it is, and pipeprobe run drives an
 instrumented copy of a full data loader over your own data. Both record every
 phase of every sample into one SQLite file, and say what bounds the pipeline:
 storage, transforms, the loader itself or synchronisation, with the evidence,
 what to change and what that should gain.
END
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
find "$root" -newermt "@$stamp" -print0 | xargs -0r touch -h -d "@$stamp"
SOURCE_DATE_EPOCH=$stamp dpkg-deb --root-owner-group -Zxz --build "$root" "$out/pipeprobe_${version}-1_$arch.deb" >/dev/null
echo "$out/pipeprobe_${version}-1_$arch.deb"

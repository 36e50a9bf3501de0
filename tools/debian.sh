#!/bin/sh
# Makes the Debian source package and builds it: the source distribution is the upstream tarball,
# and debian/ of this checkout is added.
#
# usage: tools/debian.sh FOLDER [OPTION of dpkg-buildpackage...]
#
# FOLDER gets the source package and what was built. With -B only the probe is built, which Debian
# 12 can; with -S nothing is. PYTHON names a Python that has hatchling, by default .venv's or python3.
set -eu

checkout=$(cd "$(dirname "$0")/.." && pwd)

fail() {
    echo "debian: $1" >&2
    exit 1
}

[ $# -gt 0 ] || fail "$(sed -n 's/^# usage: /usage: /p' "$0")"
command -v dh >/dev/null || fail "debhelper is missing: apt-get install debhelper devscripts"
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
python=${PYTHON:-$checkout/.venv/bin/python}
[ -x "$python" ] || python=python3
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$checkout/src/hardstone/__init__.py")
folder=$out/hardstone-$version
rm -rf "$folder"
(cd "$checkout" && "$python" -m hatchling build --target sdist --directory "$out") >/dev/null
mv "$out/hardstone-$version.tar.gz" "$out/hardstone_$version.orig.tar.gz"
tar -x -z -f "$out/hardstone_$version.orig.tar.gz" -C "$out"
cp -R "$checkout/debian" "$folder/"
cd "$folder"
dpkg-buildpackage --no-sign "$@"
cd "$out"
rm -rf "$folder"

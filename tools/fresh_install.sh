#!/bin/sh
# Installs hardstone as its users do, in a minimal root: tools/fresh.sh runs it there, as root.
#
# usage: tools/fresh_install.sh build|install|debian
#
# build: source distribution and wheel into dist/, with a compiler and the declared dependencies.
# install: the wheel of dist/ by pipx and by uv, without a compiler; a short evaluation with its
# report. debian: the packages, lintian, and what was installed.
set -eu

cd "$(dirname "$0")/.."
clone=$(pwd)
work=$(mktemp -d)
export PATH="$work/bin:$work/tools/bin:$PATH"

say() {
    echo "fresh: $1"
}

fail() {
    echo "fresh: $1" >&2
    exit 1
}

# The tools that install are no part of what is tried: an environment of their own has them.
get() {
    python3 -m venv "$work/tools"
    "$work/tools/bin/pip" install --quiet "$@"
}

build() {
    get build
    # The wheel is built from the source distribution. With probes for boards it takes Zig's compiler
    # too, which hatch_build.py declares.
    HARDSTONE_ARCHES=all python -m build
    ls -l dist
}

install() {
    for compiler in cc gcc clang make meson; do
        ! command -v $compiler >/dev/null || fail "$compiler is here: it should not be needed"
    done
    wheel=$(ls "$clone"/dist/*.whl)
    cd "$work"
    export PIPX_HOME="$work/pipx" PIPX_BIN_DIR="$work/bin"
    say "pipx $(pipx --version)"
    pipx install "$wheel"
    try_installed 3
    hardstone evaluate -D 100ms --samples 20 --quiet -o report.html || [ $? -eq 3 ]
    [ -s report.html ] || fail "there is no report"
    pipx uninstall hardstone
    [ -z "$(ls "$work/bin")" ] || fail "pipx left $(ls "$work/bin")"
    hash -r
    get uv
    export UV_TOOL_DIR="$work/uv" UV_TOOL_BIN_DIR="$work/bin"
    say "$(uv --version)"
    uv tool install --no-cache --python python3 "$wheel"
    try_installed 3
}

# The command works from any folder, with so many probes for other machines, and with the probe, the manual page and completion of the package.
try_installed() {
    hardstone --version
    probe=$(hardstone probe path)
    say "probe: $probe"
    boards=$(ls "$(dirname "$probe")"/*/hardstone-probe 2>/dev/null | wc -l)
    [ "$boards" -ge "$1" ] || fail "there are probes for $boards other machines, not $1"
    "$probe" selftest
    hardstone list >list.txt
    grep -q TMR-P-LAT list.txt || fail "hardstone list does not know TMR-P-LAT"
    hardstone evaluate --dry-run >plan.txt
    hardstone completion bash >script.bash
    offered=$(bash -c '. ./script.bash; COMP_WORDS=(hardstone run TMR-P-L) COMP_CWORD=2
        _hardstone_completion hardstone; echo "${COMPREPLY[*]}"')
    [ "$offered" = TMR-P-LAT ] || fail "completion offers '$offered' for TMR-P-L"
    prefix=$(dirname "$(dirname "$(readlink -f "$(command -v hardstone)")")")
    page=$(find "$prefix/share/man/man1" -name 'hardstone-run.1*')
    [ -n "$page" ] || fail "there is no manual page below $prefix"
}

debian() {
    export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin # Debian's Python alone
    apt-get update --quiet=2
    apt-get install --quiet=2 --yes --no-install-recommends build-essential debhelper meson lintian
    get "$(sed -n 's/^requires = \["\(hatchling==[^"]*\)".*/\1/p' pyproject.toml)"
    if apt-cache show python3-msgspec >/dev/null 2>&1; then
        apt-get install --quiet=2 --yes --no-install-recommends dh-python python3-hatchling \
            python3-installer
        what=
    else
        say "this release lacks dependencies of the toolkit: the probe alone is built"
        what=-B
    fi
    # shellcheck disable=SC2086 # no word, or one
    PYTHON=$work/tools/bin/python sh tools/debian.sh "$work/packages" $what
    cd "$work/packages"
    ls -l
    lintian --fail-on error --tag-display-limit 0 ./*.changes
    apt-get install --quiet=2 --yes --no-install-recommends ./hardstone*_*.deb
    hardstone-probe selftest
    [ -n "$what" ] || try_debian
}

try_debian() {
    try_installed 0
    told=$(hardstone compare published:qnx published:ce7 -o report.html 2>&1) || code=$?
    [ "${code:-0}" -eq 5 ] || fail "a report without vl-convert ends with ${code:-0}: $told"
    say "$told"
    for file in bash-completion/completions/hardstone zsh/vendor-completions/_hardstone \
        fish/vendor_completions.d/hardstone.fish man/man1/hardstone-probe.1.gz; do
        dpkg --search "/usr/share/$file"
    done
}

trap 'rm -rf "$work"' EXIT
case ${1:-} in
    build | install | debian) "$1" ;;
    *) fail "usage: tools/fresh_install.sh build|install|debian" ;;
esac

#!/bin/sh
# Tries what the README says on a minimal Debian: a root of its own, and in it a clone of HEAD.
#
# usage: tools/fresh.sh [--only evaluate|test|wheel|debian] [--wheel FILE] [bookworm|trixie ...]
#                       [-- COMMAND...]
#
# evaluate and test: make in the clone. wheel: the wheel is built of the source distribution, then
# installed by pipx and by uv in a root without a compiler, and the commands of the Containerfile
# are run there; with --wheel it is FILE. debian: the packages. COMMAND runs in the clone instead of all of these.
#
# Settings of pip, uv, apt and certificates come from this machine. The roots are plain folders
# outside of the mount name space that each command runs in: nothing stays mounted, also after
# kill -9, and rm meets no mount.
set -eu

checkout=$(cd "$(dirname "$0")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hardstone/fresh
logs=$checkout/build/fresh
clone=/srv/hardstone # these two as the command sees them
home=/srv/home
packages=python3,python3-venv,gcc,libc6-dev,make,git,ca-certificates
packages_of_user=python3,python3-venv,pipx,ca-certificates

main() {
    only=
    wheel=
    releases=
    while [ $# -gt 0 ]; do
        case $1 in
            --only) [ $# -gt 1 ] || usage "--only what?" && only=$2 && shift ;;
            --wheel) [ -f "${2-}" ] || usage "--wheel what?" && wheel=$(realpath "$2") && shift ;;
            bookworm | trixie) releases="$releases $1" ;;
            --) shift && break ;;
            *) usage "unknown: $1" ;;
        esac
        shift
    done
    case $only in '' | evaluate | test | wheel | debian) ;; *) usage "unknown: --only $only" ;; esac
    check_machine
    mkdir -p "$cache" "$logs"
    exec 9>"$cache/lock"
    flock --nonblock 9 || { say "another one is running; waiting for it" && flock 9; }
    trap 'remove "$cache/machine"' EXIT
    trap 'exit 130' INT TERM
    table=
    failed=0
    for release in ${releases:-bookworm trixie}; do
        if [ $# -gt 0 ]; then
            make_root "$release"
            try "$release" command "$@"
            continue
        fi
        is_made=
        for name in ${only:-evaluate test wheel debian}; do
            case $name in
                wheel) try_wheel "$release" && is_made= ;;
                debian) make_root "$release" && is_made= &&
                    try "$release" debian sh tools/fresh_install.sh debian ;;
                *) [ -n "$is_made" ] || make_root "$release"
                    is_made=yes
                    try "$release" "$name" make "$name" ;;
            esac
        done
    done
    printf '%s' "$table"
    return $failed
}

say() {
    echo "fresh: $1"
}

fail() {
    echo "fresh: $1" >&2
    exit 1
}

usage() {
    echo "fresh: $1: $(sed -n 's/^# usage: //p' "$0")" >&2
    exit 2
}

check_machine() {
    [ "$(id -u)" -eq 0 ] || fail "debootstrap and mounts need root: run it as root"
    missing=
    for need in debootstrap:debootstrap git:git unshare:util-linux setpriv:util-linux \
        flock:util-linux pivot_root:util-linux; do
        command -v "${need%:*}" >/dev/null || missing="$missing ${need#*:}"
    done
    [ -z "$missing" ] || fail "something is missing: apt-get install$missing"
    [ -z "$(git -C "$checkout" status --porcelain)" ] ||
        say "only what is committed is tried, and this checkout has changes that are not"
}

remove() {
    rm -rf --one-file-system "$1"
}

# The wheel is built in one root, and installed in another that has no compiler.
try_wheel() {
    remove "$cache/dist"
    if [ -n "$wheel" ]; then
        mkdir "$cache/dist" && cp "$wheel" "$cache/dist/"
    else
        make_root "$1"
        try "$1" build sh tools/fresh_install.sh build
        [ "$result" = ok ] || return 0
        mv "$cache/machine$clone/dist" "$cache/dist"
    fi
    make_root "$1-user"
    mv "$cache/dist" "$cache/machine$clone/dist"
    try "$1" wheel sh tools/fresh_install.sh install
    [ "$1" != trixie ] || try "$1" container python3 tools/containerfile.py
}

# A copy of the pristine root of a release, with a clone of HEAD. RELEASE-user has no compiler.
make_root() {
    include=$packages
    [ "${1%-user}" = "$1" ] || include=$packages_of_user
    if [ ! -d "$cache/$1" ]; then
        say "$1: making the minimal root, some minutes, once"
        remove "$cache/new"
        debootstrap --variant=minbase --include=$include "${1%-user}" "$cache/new" \
            >"$logs/$1-root.log" 2>&1 ||
            fail "debootstrap failed: see the end of it with: tail $logs/$1-root.log"
        rm -f "$cache"/new/var/cache/apt/archives/*.deb
        mv "$cache/new" "$cache/$1"
    fi
    remove "$cache/machine"
    cp -a --one-file-system "$cache/$1" "$cache/machine"
    copy_settings "$cache/machine"
    git clone --quiet --no-hardlinks "$checkout" "$cache/machine$clone"
}

# What this site needs to reach package indexes; none of it stands in the project.
copy_settings() {
    cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
    ! command -v apt-config >/dev/null || apt-config dump Acquire >"$1/etc/apt/apt.conf.d/99site"
    find /usr/local/share/ca-certificates -name '*.crt' \
        -exec cp {} "$1/usr/local/share/ca-certificates/" \;
    chroot "$1" update-ca-certificates >/dev/null 2>&1
    for path in /etc/pip.conf "${PIP_CONFIG_FILE:-}" "${PIP_CERT:-}" "${SSL_CERT_FILE:-}" \
        "${REQUESTS_CA_BUNDLE:-}" ${PIP_FIND_LINKS:-}; do
        [ "${path#/}" = "$path" ] || [ ! -e "$path" ] || cp -RL --parents "$path" "$1/"
    done
}

# Runs a command in the root that was made last, and adds its line to the table.
try() {
    release=$1 name=$2
    shift 2
    log=$logs/$release-$name.log
    say "$release: $* (see it with: tail -f $log)"
    begin_s=$(date +%s)
    result=ok
    # The death of this shell ends unshare, and that ends all that runs inside.
    setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child \
        sh "$0" --inside "$cache" "$@" >"$log" 2>&1 </dev/null || { result=FAILED && failed=1; }
    took_s=$(($(date +%s) - begin_s))
    table="$table$(printf '%-8s  %-8s  %-6s  %3d min %02d s  %s' "$release" "$name" $result \
        $((took_s / 60)) $((took_s % 60)) "$log")
"
}

# As the first process of the new name spaces: mounts, makes the root its own, runs the command.
inside() {
    cache=$1
    shift
    root=$cache/machine
    trap 'exit 130' INT TERM
    keep_settings
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount -t tmpfs -o mode=755 dev "$root/dev"
    for device in null zero full random urandom tty cpu_dma_latency; do
        [ ! -c /dev/$device ] || cp -a /dev/$device "$root/dev/"
    done
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
    mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    ln -s fd/0 "$root/dev/stdin"
    ln -s fd/1 "$root/dev/stdout"
    ln -s fd/2 "$root/dev/stderr"
    # Packages are checked by their hashes; fetching them once is enough.
    mkdir -p "$cache/pip" "$root$home/.cache/pip"
    mount --bind "$cache/pip" "$root$home/.cache/pip"
    cd "$root"
    pivot_root . mnt
    chroot . sh -c 'umount --lazy /mnt && cd "$0" && exec "$@"' "$clone" "$@"
}

# Of the environment only what leads to package indexes.
keep_settings() {
    for name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
        case $name in
            PIP_CACHE_DIR | PIP_NO_CACHE_DIR) unset "$name" ;;
            PIP_* | UV_* | *_proxy | *_PROXY | SSL_CERT_* | REQUESTS_CA_BUNDLE) ;;
            *) unset "$name" ;;
        esac
    done
    export HOME=$home LANG=C.UTF-8
    export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
}

# One line: a shell reads on in a script that was changed while it ran.
case ${1:-} in --inside) shift; inside "$@" ;; *) main "$@" ;; esac; exit

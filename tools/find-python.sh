#!/bin/sh
# Prints a Python of 3.11 or newer that can make a virtual environment, or one line
# that says what to type.
fail() {
    echo "setup: $1: $(as_root "$2")" >&2
    exit 1
}

# Root needs nothing, and small systems have no sudo.
as_root() {
    if [ "$(id -u 2>/dev/null)" = 0 ]; then
        echo "$1"
    elif command -v sudo >/dev/null; then
        echo "sudo $1"
    else
        echo "su -c 'PATH=\$PATH:/usr/sbin:/sbin $1'"
    fi
}

seen=
for name in "${PYTHON:-python3}" python3 python3.13 python3.12 python3.11; do
    "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
    case $? in
        0) break ;;
        1) seen=${seen:-"$name is $("$name" -c 'import platform; print(platform.python_version())')"} ;;
    esac
    name=
done

[ -n "$name" ] || [ -n "$seen" ] ||
    fail "there is no python3" "apt-get install python3 python3-venv"
[ -n "$name" ] ||
    fail "Python 3.11 or newer is needed, $seen" "apt-get install python3.11 python3.11-venv"
"$name" -c 'import venv, ensurepip' 2>/dev/null ||
    fail "$name cannot make a virtual environment" "apt-get install ${name##*/}-venv"
echo "$name"

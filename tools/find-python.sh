#!/bin/sh
# Prints a Python of 3.11 or newer that can make a virtual environment, or one line
# that says what to type.
fail() {
    echo "setup: $1: $2" >&2
    exit 1
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
    fail "there is no python3" "sudo apt-get install python3 python3-venv"
[ -n "$name" ] ||
    fail "Python 3.11 or newer is needed, $seen" "sudo apt-get install python3.11 python3.11-venv"
"$name" -c 'import venv, ensurepip' 2>/dev/null ||
    fail "$name cannot make a virtual environment" "sudo apt-get install ${name##*/}-venv"
echo "$name"

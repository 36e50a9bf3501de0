"""Stands for apt-get, apt-cache, apt-config, dpkg and dpkg-deb: acts on an archive of packages
that the file $MADE_UP_ARCHIVE describes, and writes down how it was called.

A package's file holds the path of a folder, which unpacking copies. Some fifteen run for one
kernel: a module that is imported takes more time than all else.
"""

import os
import sys
import time

PLACE = os.environ["MADE_UP_ARCHIVE"]
FOLDER = os.path.dirname(PLACE)  # noqa: PTH120


def read(path: str) -> str:
    with open(path) as file:  # noqa: PTH123
        return file.read()


def write(name: str, text: str, mode: str = "w") -> None:
    with open(f"{FOLDER}/{name}", mode) as file:  # noqa: PTH123
        file.write(text)


SAID = eval(read(PLACE))  # noqa: S307 - a literal of MadeUpArchive


def numbers(version: str) -> list[int]:
    return [int(n) for n in "".join(c if c.isdigit() else " " for c in version).split()]


def apt_get(options: dict[str, str], words: list[str]) -> int:
    if words[0] == "update":
        write("sources", read(options["Dir::Etc::sourceparts"] + "/debian.sources"))
        sys.stderr.write(SAID.get("update_says", ""))
        return int(SAID.get("update_code", 0))
    for text in words[1:]:
        found = [one for one in SAID["packages"] if f"{one['name']}={one['version']}" == text]
        if not found:
            sys.stderr.write(f"E: Version for {text} was not found\n")
            return 100
        package = found[-1]
        file = f"{package['name']}_{package['version'].replace(':', '%3a')}_any.deb"
        if "--print-uris" in sys.argv:
            print(f"'http://archive.invalid/{file}' {file} 1000 SHA256:0")
            continue
        if "download_says" in SAID:
            sys.stderr.write(SAID["download_says"])
            return 100
        with open(file, "w") as deb:  # noqa: PTH123
            deb.write(package["tree"])
        if "download_waits" in SAID:
            write("pid", str(os.getpid()))
            time.sleep(600)
    return 0


def apt_cache(words: list[str]) -> int:
    for package in () if SAID.get("update_code") else SAID["packages"]:
        name, version = package["name"], package["version"]
        if words[0] == "pkgnames" and name.startswith(words[1]):
            print(name)
        if words[0] == "madison" and name in words[1:]:
            print(f"{name} | {version} | http://archive.invalid main Packages")
        if words[0] == "show" and f"{name}={version}" in words[1:]:
            print(f"Package: {name}\nVersion: {version}\nDepends: {package['depends']}\n")
    return 0


def dpkg_deb(deb: str, root: str) -> int:
    if "unpack_says" in SAID:
        sys.stderr.write(SAID["unpack_says"])
        return 2
    if "unpack_waits" in SAID:
        child = os.fork()
        if child == 0:
            time.sleep(600)
        write("pid", str(child))
        os.wait()
    return os.spawnv(os.P_WAIT, "/bin/cp", ["cp", "-a", read(deb) + "/.", root])  # noqa: S606


def main() -> int:
    tool, words = sys.argv[0].rpartition("/")[2], sys.argv[1:]
    write("calls", f"{[tool, *words]!r}\n", "a")
    options, rest = {}, []
    while words:
        word = words.pop(0)
        if word == "-o":
            name, _, value = words.pop(0).partition("=")
            options[name] = value
        elif word == "-c":
            write("apt.conf", read(words.pop(0)))
        elif word not in ("-q", "--print-uris"):
            rest.append(word)
    if tool == "apt-get":
        return apt_get(options, rest)
    if tool == "apt-cache":
        return apt_cache(rest)
    if tool == "apt-config":
        print(f"LIST='{FOLDER}/sources.list'\nPARTS='{FOLDER}/sources.list.d/'")
    if tool == "dpkg":
        return 0 if numbers(rest[1]) > numbers(rest[3]) else 1
    return dpkg_deb(*rest[1:]) if tool == "dpkg-deb" else 0

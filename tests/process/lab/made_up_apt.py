"""Stands for apt-get, apt-cache, apt-config, dpkg and dpkg-deb: acts on an archive of packages
that the JSON file $MADE_UP_ARCHIVE describes, and writes down how it was called.

A package's file holds the path of a folder, which unpacking copies.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall("[0-9]+", version)]


class Archive:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.said: dict[str, Any] = json.loads(path.read_text())
        self.packages: list[dict[str, str]] = self.said["packages"]

    def find(self, text: str) -> dict[str, str] | None:
        texts = {f"{one['name']}={one['version']}": one for one in self.packages}
        return texts.get(text)


def apt_get(archive: Archive, options: dict[str, str], words: list[str]) -> int:
    if words[0] == "update":
        sources = Path(options["Dir::Etc::sourceparts"], "debian.sources").read_text()
        Path(archive.path.with_name("sources")).write_text(sources)
        sys.stderr.write(archive.said.get("update_says", ""))
        return int(archive.said.get("update_code", 0))
    for text in words[1:]:
        package = archive.find(text)
        if package is None:
            sys.stderr.write(f"E: Version for {text} was not found\n")
            return 100
        file = f"{package['name']}_{package['version'].replace(':', '%3a')}_any.deb"
        if "--print-uris" in sys.argv:
            print(f"'http://archive.invalid/{file}' {file} 1000 SHA256:0")
            continue
        if "download_says" in archive.said:
            sys.stderr.write(archive.said["download_says"])
            return 100
        Path(file).write_text(package["tree"])
        if "download_waits" in archive.said:
            archive.path.with_name("pid").write_text(str(os.getpid()))
            time.sleep(600)
    return 0


def apt_cache(archive: Archive, words: list[str]) -> int:
    if archive.said.get("update_code"):
        return 0
    for package in archive.packages:
        name, version = package["name"], package["version"]
        if words[0] == "pkgnames" and name.startswith(words[1]):
            print(name)
        if words[0] == "madison" and name in words[1:]:
            print(f"{name} | {version} | http://archive.invalid main Packages")
        if words[0] == "show" and f"{name}={version}" in words[1:]:
            print(f"Package: {name}\nVersion: {version}\nDepends: {package.get('depends', '')}\n")
    return 0


def main() -> int:
    tool, words = Path(sys.argv[0]).name, sys.argv[1:]
    archive = Archive(Path(os.environ["MADE_UP_ARCHIVE"]))
    with archive.path.with_name("calls").open("a") as calls:
        calls.write(json.dumps([tool, *words]) + "\n")
    options, rest = {}, []
    while words:
        word = words.pop(0)
        if word == "-o":
            name, _, value = words.pop(0).partition("=")
            options[name] = value
        elif word == "-c":
            shutil.copy(words.pop(0), archive.path.with_name("apt.conf"))
        elif word not in ("-q", "--print-uris"):
            rest.append(word)
    if tool == "apt-get":
        return apt_get(archive, options, rest)
    if tool == "apt-cache":
        return apt_cache(archive, rest)
    if tool == "apt-config":
        print(f"LIST='{archive.path.parent}/sources.list'")
        print(f"PARTS='{archive.path.parent}/sources.list.d/'")
    if tool == "dpkg":
        return 0 if numbers(rest[1]) > numbers(rest[3]) else 1
    if tool == "dpkg-deb":
        if "unpack_says" in archive.said:
            sys.stderr.write(archive.said["unpack_says"])
            return 2
        if "unpack_waits" in archive.said:
            with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as child:
                archive.path.with_name("pid").write_text(str(child.pid))
        tree = Path(rest[1]).read_text()
        shutil.copytree(tree, rest[2], symlinks=True, dirs_exist_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Makes a release: all of its files in dist/VERSION, built and checked. It publishes nothing.

usage: make release VERSION=1.0.0 [ARGS="--tag --fresh --without wheel-arm64"]

Works in a clone of HEAD, build/release/VERSION/source, where version and changelog are set and
committed; the checkout stays as it is. `--tag` then takes over that commit and tags it. The same
command goes on after a failure with what it lacks. docs/how-to/release.md has the rest.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import sys
import tarfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path

from packaging.version import InvalidVersion, Version

import docs_site
import release_checks as checks
from docs_site import StepError, run_logged
from lint_project import VERSION_PLACES
from release_work import (
    MACHINES,
    PARTS,
    SUMS,
    Step,
    Work,
    debian_version,
    digests,
    git,
    native,
    sums,
    unpacked,
)

ROOT = Path(__file__).resolve().parent.parent
CHANGELOG = "CHANGELOG.md"
UNRELEASED = re.compile(r"^## Unreleased[ \t]*\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
RELEASED = re.compile(r"^## (\S+) - \d{4}-\d{2}-\d{2}$", re.MULTILINE)


# ---- version and changelog ----


def checked_version(text: str, released: Sequence[Version]) -> Version:
    """The version to release; StepError unless it is of PEP 440, in its normal form, and newer than
    all that were released."""
    if not text:
        raise StepError("no version is given: make release VERSION=1.0.0")
    try:
        version = Version(text)
    except InvalidVersion:
        told = f"{text!r} is no version of PEP 440: write it as 1.0.0 or 1.1.0rc1"
        raise StepError(told) from None
    if str(version) != text:
        raise StepError(f"{text} is not in its normal form: make release VERSION={version}")
    if len(version.release) != 3:
        raise StepError(f"{text} has not three numbers: write it as 1.0.0 or 1.1.0rc1")
    if version.local or version.is_devrelease:
        told = f"{text} is a local or a development version"
        raise StepError(f"{told}: make release VERSION={version.base_version}")
    if released and version <= max(released):
        raise StepError(f"{text} is not newer than {max(released)}, which was released: raise it")
    return version


def released_versions(changelog: str, tags: Sequence[str]) -> list[Version]:
    """Those with a dated section of the changelog or a tag."""
    names = [*RELEASED.findall(changelog), *(tag.removeprefix("v") for tag in tags)]
    found = []
    for name in names:
        try:
            found.append(Version(name))
        except InvalidVersion:  # a tag that is no version
            continue
    return sorted(set(found))


def released_changelog(text: str, version: Version, date: str) -> str:
    """The changelog with its section Unreleased as that of the version."""
    section = UNRELEASED.search(text)
    if section is None or not section[1].strip():
        told = f"{CHANGELOG} has no section Unreleased, or an empty one"
        raise StepError(f"{told}: write what users get")
    return text[: section.start()] + f"## {version} - {date}\n{section[1]}" + text[section.end() :]


def debian_changelog(former: str, version: str, moment: datetime) -> str:
    """With an entry for the version, signed as the newest one. An entry that was never released
    is that entry."""
    if former.startswith(f"hardstone ({version}) "):
        return former
    head, _, rest = former.partition("\n")
    body, _, older = rest.partition("\n -- ")
    signer, _, older = older.partition("\n")
    signed = f"{signer.partition('  ')[0]}  {moment:%a, %d %b %Y %H:%M:%S} +0000"
    if " UNRELEASED;" not in head:
        body, older = f"\n  * New upstream release: see {CHANGELOG}.\n", f"\n{former}"
    return f"hardstone ({version}) unstable; urgency=medium\n{body}\n -- {signed}\n{older}"


def set_version(tree: Path, version: Version, moment: datetime) -> list[str]:
    """Sets the version wherever the tree has it, and dates the changelogs; returns the files."""
    changed = []
    for pattern, place in VERSION_PLACES.items():
        for path in sorted(tree.glob(pattern)):
            text = path.read_text("utf-8")
            found = re.search(place, text, re.MULTILINE)
            if found is None:
                raise StepError(f"{path.relative_to(tree)} has no version: correct it")
            path.write_text(text[: found.start(1)] + str(version) + text[found.end(1) :], "utf-8")
            changed.append(str(path.relative_to(tree)))
    changes = tree / CHANGELOG
    told = released_changelog(changes.read_text("utf-8"), version, f"{moment:%Y-%m-%d}")
    changes.write_text(told, "utf-8")
    debian = tree / "debian"
    if (debian / "changelog").exists():
        form = (debian / "source" / "format").read_text("utf-8")
        former = (debian / "changelog").read_text("utf-8")
        told = debian_changelog(former, debian_version(version, form), moment)
        (debian / "changelog").write_text(told, "utf-8")
        changed.append("debian/changelog")
    return [*changed, CHANGELOG]


# ---- build ----


def check_checkout(root: Path, branch: str) -> None:
    here = git(root, "rev-parse", "--abbrev-ref", "HEAD")
    if here != branch:
        raise StepError(f"this is {here}, not the branch {branch}: git switch {branch}")
    if changed := git(root, "status", "--porcelain"):
        (first, *more) = [line.split()[-1] for line in changed.splitlines()]
        told = f"{first} and {len(more)} more files" if more else first
        raise StepError(f"the tree has changes that are not committed ({told}): git status")


def make_source(work: Work) -> str:
    """The clone with the commit of the release; one of this HEAD is kept."""
    base = git(work.root, "rev-parse", "HEAD")
    known = work.state.get("source", {})
    is_kept = known.get("base") == base and (work.source / ".git").exists()
    if is_kept and git(work.source, "rev-parse", "HEAD") == known["commit"]:
        git(work.source, "reset", "--quiet", "--hard")
    else:
        shutil.rmtree(work.folder, ignore_errors=True)
        work.folder.mkdir(parents=True)
        work.state.clear()
        git(work.root, "clone", "--quiet", "--no-checkout", ".", str(work.source))
        git(work.source, "checkout", "--quiet", "--detach", base)
        if str(work.version) not in RELEASED.findall((work.source / CHANGELOG).read_text("utf-8")):
            commit_version(work)
        known = {"base": base, "commit": git(work.source, "rev-parse", "HEAD")}
        work.state["source"] = known
    work.commit = known["commit"]
    work.epoch_s = int(git(work.source, "log", "-1", "--format=%ct"))
    work.dist.mkdir(exist_ok=True)
    return f"commit {work.commit[:12]}, {'kept' if is_kept else f'of {base[:12]}'}"


def commit_version(work: Work) -> None:
    moment_s = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    person = git(work.root, "var", "GIT_COMMITTER_IDENT").rpartition(" ")[0].rpartition(" ")[0]
    name, _, address = person.rstrip(">").partition(" <")
    moment = datetime.fromtimestamp(moment_s, UTC)
    git(work.source, "add", "--", *set_version(work.source, work.version, moment))
    who = {
        f"GIT_{role}_{what}": text
        for role in ("AUTHOR", "COMMITTER")
        for what, text in (("NAME", name), ("EMAIL", address), ("DATE", f"{moment_s} +0000"))
    }
    plain = ["-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"]
    git(work.source, *plain, "commit", "--quiet", "-m", f"Release {work.version}", **who)


def hatchling(work: Work, step: str, tree: Path, out: Path, **environment: str) -> None:
    """By the pinned build tools, with Zig's compiler, in an environment of their own."""
    lock = work.source / "requirements" / "release.txt"
    python = docs_site.pinned_python(lock, work.downloads.with_name("venv"), work.log(step))
    target = "sdist" if step == "sdist" else "wheel"
    command = [python, "-m", "hatchling", "build", "-t", target, "-d", out]
    run_logged(command, work.log(step), cwd=tree, environment=work.environment(**environment))


def build_sdist(work: Work) -> str:
    hatchling(work, "sdist", work.source, work.dist)
    return noted(work.sdist)


def build_wheel(work: Work, arch: str) -> str:
    """Of the source distribution, as others build it."""
    step = f"wheel-{arch}"
    folder = work.scratch("wheel")  # one path for all: Zig's compiler keeps what it compiled by it
    tree, out = unpacked(work.sdist, folder), folder / "out"
    hatchling(work, step, tree, out, HARDSTONE_WHEEL_ARCH=arch, HARDSTONE_ARCHES="all")
    (wheel,) = out.glob("*.whl")
    if not wheel.stem.endswith(f"_{MACHINES[arch]}"):
        told = f"hatch_build.py made {wheel.name}, and none for {arch}"
        raise StepError(f"{told}: leave it out with ARGS='--without {step}'")
    return noted(wheel.rename(work.dist / wheel.name))


def build_debian(work: Work) -> str:
    """The source package; its original is the source distribution."""
    if not (work.source / "debian").exists():
        raise StepError("the tree has no folder debian: ARGS='--without debian'")
    if shutil.which("dpkg-source") is None:
        told = "dpkg-source is missing: sudo apt-get install dpkg-dev debhelper"
        raise StepError(f"{told}, or leave it out with ARGS='--without debian'")
    folder = work.scratch("debian")
    form = (work.source / "debian" / "source" / "format").read_text()
    upstream = debian_version(work.version, form).removesuffix("-1")
    tree = unpacked(work.sdist, folder).rename(folder / f"hardstone-{upstream}")
    shutil.copytree(work.source / "debian", tree / "debian", dirs_exist_ok=True)
    if "quilt" in form:
        shutil.copy2(work.sdist, folder / f"hardstone_{upstream}.orig.tar.gz")
    run_logged(
        ["dpkg-source", "--build", tree.name],
        work.log("debian"),
        cwd=folder,
        environment=work.environment(),
    )
    made = [path for path in folder.iterdir() if path.is_file()]
    for path in made:
        shutil.copy2(path, work.dist / path.name)
    return ", ".join(sorted(path.name for path in made))


def build_documents(work: Work) -> str:
    site = work.folder / "site"
    docs_site.build(work.source, site, work.log("documents"), work.environment())
    pack(site, work.documents, work.documents.name.removesuffix(".tar.gz"), work.epoch_s)
    return f"{sum(1 for _ in site.rglob('*.html'))} pages, {noted(work.documents)}"


def pack(folder: Path, archive: Path, name: str, moment_s: int) -> None:
    """A tar of a folder that depends on nothing but names and contents of its files."""
    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, moment_s) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(one for one in folder.rglob("*") if one.is_file()):
            content = path.read_bytes()
            entry = tarfile.TarInfo(f"{name}/{path.relative_to(folder)}")
            entry.size, entry.mtime, entry.mode = len(content), moment_s, 0o644
            tar.addfile(entry, BytesIO(content))


def write_sums(work: Work) -> str:
    text = sums(work.dist)
    (work.dist / SUMS).write_text(text)
    return f"{text.count(chr(10))} files"


def noted(path: Path) -> str:
    return f"{path.name}, {path.stat().st_size / 1e6:.1f} MB"


# ---- the release ----


def place(work: Work) -> str:
    """Moves the files, all of them checked, to dist/VERSION."""
    final = work.root / "dist" / str(work.version)
    if final.is_dir() and digests(final) == digests(work.dist):
        return f"dist/{work.version} is there already"
    new = final.with_name(f".{final.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(work.dist, new)
    shutil.rmtree(final, ignore_errors=True)
    new.rename(final)
    return f"dist/{work.version}"


def tag(work: Work) -> str:
    """The checkout takes over the commit of the release, and its tag."""
    name = f"v{work.version}"
    if git(work.root, "tag", "--list", name):
        if git(work.root, "rev-parse", f"{name}^{{commit}}") == work.commit:
            return f"{name} is there already"
        raise StepError(f"{name} is the tag of another commit: git show {name}")
    git(work.root, "fetch", "--quiet", "--no-tags", str(work.source), work.commit)
    git(work.root, "merge", "--quiet", "--ff-only", work.commit)
    git(work.root, "-c", "tag.gpgsign=false", "tag", "-a", name, "-m", f"Release {work.version}")
    return f"{name}, not pushed: git push --follow-tags"


def all_steps(*, has_fresh: bool, is_tagging: bool) -> list[Step]:
    steps = [
        Step("source", "a clone of HEAD with version and changelog, committed", make_source),
        Step("sdist", "the source distribution", build_sdist, "hardstone-*[0-9].tar.gz"),
    ]
    for arch, machine in MACHINES.items():
        steps.append(
            Step(
                f"wheel {arch}",
                f"the wheel for {arch}, built from the source distribution",
                partial(build_wheel, arch=arch),
                f"*_{machine}.whl",
                (f"wheel-{arch}",),
            )
        )
    own, other = native(), next(arch for arch in MACHINES if arch != native())
    steps += [
        Step("debian", "the Debian source package", build_debian, "hardstone_*", ("debian",)),
        Step("documents", "the documents as a site", build_documents, "*-docs.tar.gz"),
        Step("checksums", SUMS, write_sums, SUMS),
        Step("check source", "tools/lint.py, on the commit of the release", checks.check_source),
        Step("check checksums", "every file is as SHA256SUMS says", checks.check_sums),
        Step("check contents", "versions; the probes of the wheels", checks.check_contents),
        Step(
            f"check wheel {own}",
            "installs and runs in an environment of its own",
            checks.check_wheel,
            parts=(f"wheel-{own}",),
        ),
        Step(
            f"check wheel {other}",
            "unpacked by pip: tag, and the same files",
            partial(checks.check_other_wheel, arch=other),
            parts=(f"wheel-{other}",),
        ),
        Step(
            "check probes",
            "each of each wheel runs, under emulation where it must",
            checks.check_probes,
            parts=("emulation",),
        ),
        Step("check sdist", "builds, installs and runs in one of its own", checks.check_sdist),
        Step("check documents", "links, and nothing from another host", checks.check_documents),
        Step(
            "check browser",
            "every page opened in Chromium",
            checks.check_browser,
            parts=("browser",),
        ),
        Step("check debian", "the package unpacks", checks.check_debian, parts=("debian",)),
        Step("check lintian", "its errors", checks.check_lintian, parts=("debian", "lintian")),
    ]
    if has_fresh:
        about = "wheel and packages in minimal Debians"
        steps.append(Step("check fresh", about, checks.check_fresh))
    steps.append(Step("place", "all of it to dist/VERSION", place))
    if is_tagging:
        steps.append(Step("tag", "commit and tag of the release in this checkout", tag))
    return steps


ALWAYS = ("source", "checksums", "check checksums", "place", "tag")  # cheap


def is_done(work: Work, step: Step) -> bool:
    known = work.state.get(step.name)
    if not known or step.name in ALWAYS:
        return False
    if step.makes:
        return known == digests(work.dist, step.makes)
    return known == {SUMS: docs_site.digest(work.dist / SUMS)}


def remove_made(work: Work, step: Step) -> None:
    for path in work.dist.glob(step.makes) if step.makes else ():
        path.unlink()


def carry_out(work: Work, steps: Sequence[Step]) -> None:
    """Runs the steps, a line each. StepError names the step that failed."""
    state = work.folder / "state.json"
    if state.exists():
        work.state = json.loads(state.read_text())
    for step in steps:
        begin_s = time.monotonic()
        if left_out := sorted(work.without.intersection(step.parts)):
            remove_made(work, step)
            say(step.name, 0.0, f"left out: --without {left_out[0]}")
            continue
        if is_done(work, step):
            say(step.name, 0.0, "kept from before")
            continue
        work.log(step.name).unlink(missing_ok=True)
        remove_made(work, step)
        try:
            note = step.run(work)
        except StepError as error:
            took_s = time.monotonic() - begin_s
            raise StepError(f"{step.name} FAILED after {took_s:.1f} s: {error}") from None
        if step.makes:
            work.state[step.name] = digests(work.dist, step.makes)
        elif step.name not in ALWAYS:
            work.state[step.name] = {SUMS: docs_site.digest(work.dist / SUMS)}
        state.write_text(json.dumps(work.state, indent=1))
        say(step.name, time.monotonic() - begin_s, note)


def say(name: str, took_s: float, note: str) -> None:
    print(f"release: {name:<20} {took_s:7.1f} s  {note}", flush=True)


def begin(root: Path, text: str, branch: str) -> Version:
    """The version, after all that can be refused before any work."""
    check_checkout(root, branch)
    changelog = (root / CHANGELOG).read_text("utf-8")
    tags = git(root, "tag", "--list", "v*").split()
    released = released_versions(changelog, tags)
    if is_released := text in RELEASED.findall(changelog):
        head = git(root, "rev-parse", "HEAD")
        if f"v{text}" not in tags or git(root, "rev-parse", f"v{text}^{{commit}}") == head:
            released = [one for one in released if str(one) != text]  # this is its commit
    version = checked_version(text, released)
    if not is_released:
        released_changelog(changelog, version, "")
        git(root, "var", "GIT_COMMITTER_IDENT")
    return version


def main(words: Sequence[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", metavar="VERSION")
    parser.add_argument("--branch", default="main", help="the branch of releases")
    parser.add_argument("--tag", action="store_true", help="commit and tag in this checkout")
    parser.add_argument("--fresh", action="store_true", help="also on minimal Debians")
    parser.add_argument("--without", action="append", choices=PARTS, default=[], metavar="PART")
    parser.add_argument("--anew", action="store_true", help="keep nothing from before")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
    arguments = parser.parse_args(words)
    steps = all_steps(has_fresh=arguments.fresh, is_tagging=arguments.tag)
    try:
        version = begin(root, arguments.version, arguments.branch)
        work = Work(root, version, frozenset(arguments.without))
        if arguments.dry_run:
            for step in steps:
                left = "  (left out)" if work.without.intersection(step.parts) else ""
                print(f"release: would make {step.name:<20} {step.about}{left}")
            return 0
        if arguments.anew:
            shutil.rmtree(work.folder, ignore_errors=True)
        carry_out(work, steps)
    except StepError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("release: interrupted; the same command goes on with it", file=sys.stderr)
        return 130
    print(f"release: {version} is in dist/{version}; nothing was published")
    return 0


if __name__ == "__main__":
    sys.exit(main())

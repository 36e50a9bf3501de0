"""Rules about words that people read: phrases that readers stumbled over do not come back."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_tree import Complaint, File, Tree

# What readers had to read twice, as a pattern in which a space is any break of a line or of a
# literal, and what to write. Add one when a reader stumbles again.
PHRASES = {
    r"that is there\b": "say available, or name what it is",
    r"(?<!here\s)\bis no (?:address|duration|figure|id|multiple)\b": "say is not a ...",
    r"(?<!here\s)\bis no (?:name|number|outcome|scenario|time)\b": "say is not a ...",
    r"\b(?:is|are|nothing is|not) told (?:by|from|at|in)\b": "say reported, known or distinguished",
    r"[\d}] millionths of\b": "give a percentage",
    r"\bhalf more\b": "say another half",
    r"\bdoes not bind\b": "say not reached",
    r"\bholds it down\b": "say limited by",
    r"\bkept apart\b": "say set aside, or separate",
    r"\bfilters? of system calls\b": "say system call filter",
    r"(?<!-)\banew\b": "say again",
    r"\buser land\b": "say user space",
    r"\bthe begin of\b": "begin is a verb: say the start of",
    r"\bfound no room\b": "say there was no room for",
    r"\bfell short of\b": "say lower than requested",
    r"\bnot at its end\b": "say not finished",
    r"\b(?:less|fewer) than (?:was )?asked for\b": "say than requested",
    r"\bmeasure for longer\b": "say measure longer",
    r"\bstands? beside\b": "say compared with, or next to",
    r"\bperhaps emulated\b": "say may be emulated",
    r"\bnot whole\b": "say incomplete",
    r"\bsomebody (?:else|has|switched)\b": "say another program",
    r"\bare of one boot\b": "say come from one boot",
    r"\btakes? pages? back\b": "say reclaims pages",
    r"\beats? memory\b": "say uses up memory",
    r"\bcannot be held against\b": "say cannot be checked against",
    r"\bthe reader of the output left\b": "print nothing",
    r"\btold, and\b": "say reported, and",
    r"\bwithout a word\b": "say silently",
    r"\bforesees?\b": "say predicts or estimates",
}
_BREAK = r'(?:\\?[ \n]|"\s*\\?\n\s*[fr]?")+'
_COMMENT = re.compile(r"(?:^|\s)(?:#|//|/?\*) ?")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_DOCSTRING = re.compile(r'"""(?!,).*?"""', re.DOTALL)  # for developers; help is in docs/reference
# Records of what was thought at a time.
_HISTORY = ("CHANGELOG.md", "docs/decisions/")


def _patterns() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(one.replace(" ", _BREAK)), instead) for one, instead in PHRASES.items()]


def _blank(found: re.Match[str]) -> str:
    """As many lines without a word."""
    return re.sub(r"[^\n]", " ", found[0])


def _read_by_people(tree: Tree) -> Iterator[File]:
    yield from tree.below("src/hardstone", ".py", ".toml", ".j2")
    yield from tree.below("probe/src", ".c", ".h")
    yield from (one for one in tree.documents if not one.path.startswith(_HISTORY))


def plain_words(tree: Tree) -> Iterator[Complaint]:
    """No text that a user reads has a phrase that readers stumbled over."""
    patterns = _patterns()
    for file in _read_by_people(tree):
        text = file.text
        if file.path.endswith(".md") and not file.path.startswith("docs/reference/"):
            text = _FENCE.sub(_blank, text)
        if file.path.endswith(".py"):
            text = _DOCSTRING.sub(_blank, text)
        for pattern, instead in patterns:
            for found in pattern.finditer(text):
                start = text.rfind("\n", 0, found.start()) + 1
                is_code = not file.path.endswith(".md")
                if is_code and _COMMENT.search(text[start : found.start()]):
                    continue
                shown = " ".join(re.sub(r'"\s*\n\s*[fr]?"', "", found[0]).split())
                yield file.wrong_at(found.start(), f'"{shown}": {instead}')


RULES = [plain_words]

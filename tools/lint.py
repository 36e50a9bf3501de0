"""Lints of the repository: rules about its own source, documents and names.

Prints what is wrong, one line each: `path:line: what is wrong, and what to do`. `--only RULE`
tries one rule.
"""

from __future__ import annotations

import argparse
import gc
import sys
from pathlib import Path

import lint_c
import lint_data
import lint_docs
import lint_project
import lint_python
import lint_words
from lint_tree import read_tree

ROOT = Path(__file__).resolve().parent.parent
RULES = {
    rule.__name__.replace("_", "-"): rule
    for module in (lint_python, lint_c, lint_docs, lint_data, lint_project, lint_words)
    for rule in module.RULES
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=RULES, metavar="RULE")
    arguments = parser.parse_args()
    gc.disable()  # a search for cycles in a million nodes takes as long as parsing them
    tree = read_tree(ROOT)
    chosen = [arguments.only] if arguments.only else list(RULES)
    complaints = [complaint for name in chosen for complaint in RULES[name](tree)]
    for complaint in complaints:
        print(complaint)
    read_count = sum(file.is_read for file in tree.files.values())
    print(f"lint: {read_count} files, {len(chosen)} rules, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

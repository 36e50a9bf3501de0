# What everyone types; what CI runs. ARGS= passes options through.
SETUP = python=$$(sh tools/find-python.sh) && "$$python" tools/setup.py
IN_VENV = PATH="$(CURDIR)/.venv/bin:$$PATH"

.PHONY: help setup evaluate check test test-host test-full lab fresh bench finding fuzz docs docs-site release format clean

help:
	@echo "make setup      .venv with all pinned dependencies, and the probe"
	@echo "make evaluate   quick battery on this machine, summary and report"
	@echo "make check      lint, types, build, and unit tests that take no time"
	@echo "make test       every check that CI runs; all deterministic"
	@echo "make test-host  tests on the real kernel (figures, floods, verdicts); do not use the machine meanwhile"
	@echo "make test-full  before a release: all of them, every variant of the build, lab, fresh"
	@echo "make lab        the tests in guests, on every Debian kernel available"
	@echo "make fresh      both, the wheel and the packages on a minimal Debian 12 and 13 (needs root, debootstrap)"
	@echo "make bench      hardstone compared with other tools of the field"
	@echo "make finding    late wake-ups under hardstone's loads, hackbench and stress-ng"
	@echo "make fuzz       200 000 damaged documents, streams, journals and files of other tools (ARGS=--inputs=N)"
	@echo "make docs       docs/reference and the output shown in the documents"
	@echo "make docs-site  the documents as a site, in build/docs/site, every page opened in Chromium"
	@echo "make release    VERSION=1.0.0: all files of a release, built and checked; publishes nothing"
	@echo "make format     source in the house format"
	@echo "make clean      remove what make setup and the checks made"

setup:
	@$(SETUP) --dev
	@echo "setup: ready: make evaluate, or .venv/bin/hardstone --help"

evaluate:
	@$(SETUP)
	@.venv/bin/hardstone evaluate $(ARGS)

check:
	@$(SETUP) --dev --no-probe
	@$(IN_VENV) python tools/check.py --door check $(ARGS)

test:
	@$(SETUP) --dev --no-probe
	@$(IN_VENV) python tools/check.py $(ARGS)

test-host:
	@$(SETUP) --dev --no-probe
	@$(IN_VENV) python tools/check.py --door host $(ARGS)

test-full:
	@$(SETUP) --dev --no-probe
	@$(IN_VENV) python tools/check.py --door full $(ARGS)

lab:
	@$(SETUP) --dev --no-probe
	@$(IN_VENV) python tools/check.py --door lab $(ARGS)

fresh:
	@sh tools/fresh.sh $(ARGS)

bench:
	@$(SETUP)
	@$(IN_VENV) python -m bench.run $(ARGS)

finding:
	@$(SETUP)
	@$(IN_VENV) python -m bench.finding $(ARGS)

fuzz:
	@$(SETUP) --dev --no-probe
	@$(IN_VENV) python -m bench.fuzz $(ARGS)

docs:
	@$(SETUP) --dev
	@$(IN_VENV) python tools/gen_docs.py $(ARGS)

docs-site:
	@$(SETUP) --dev --no-probe
	@$(IN_VENV) python tools/docs_site.py $(ARGS)

release:
	@$(SETUP) --dev --no-probe
	@$(IN_VENV) python tools/release.py "$(VERSION)" $(ARGS)

format:
	@$(SETUP) --dev --no-probe
	@$(IN_VENV) python tools/check.py --format

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# One word per task. `make check test` is what .ci/run does.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PREFIX ?= /usr/local
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Linked statically, a start takes 0.4 ms less: no loader, no libraries. With musl it is another 0.3 ms: glibc first asks
# the processor what it can do, and in a virtual machine each of those questions leaves it. `rustup target add` brings musl.
HOST := $(shell rustc -vV | sed -n 's/^host: //p')
MUSL := $(HOST:-gnu=-musl)
TRIPLE := $(if $(wildcard $(shell rustc --print target-libdir --target $(MUSL))/libstd-*),$(MUSL),$(HOST))
BELLJAR := $(TARGET)/$(TRIPLE)/release/belljar
DEV := cargo run --quiet --package belljar-dev --
# The distribution's own interpreter when there is one: a shim in a private folder is slow and other users cannot read it.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
VENV := $(TARGET)/venv
TOOLS := $(VENV)/belljar-tools
BENCH_VENV := $(TARGET)/bench-venv
DEMO := $(TARGET)/demo
# For `make demo`: what the Python package needs beside the binary. Without an index, the demo leaves pandas out.
DEMO_BUILD = $(MAKE) --no-print-directory build
DEMO_PIP = $(PYTHON) -m pip install --quiet --disable-pip-version-check --retries 0 --timeout 10 --upgrade \
	--target $(DEMO)/packages cloudpickle uv
SITE_VENV := $(TARGET)/site-venv
# For `make fuzz`: seconds for each target.
SECONDS ?= 60
# For `make soak`.
RUNS ?= 2000
JOBS ?= 10000
KILLS ?= 2000
# For `make neighbours`: beside each.
CALLS ?= 1000

.PHONY: help
help:  ## List the tasks
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

.PHONY: build
build:  ## Build the release binary
	RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked --package belljar-cli --target $(TRIPLE)

.PHONY: demo
demo:  ## Build, then see in less than a minute what belljar does
	@$(PYTHON) examples/demo/quietly.py $(DEMO)/build.log $(DEMO_BUILD)
	@$(PYTHON) examples/demo/quietly.py --try $(DEMO)/pip.log $(DEMO_PIP)
	@PYTHONPATH=python:$(DEMO)/packages PATH="$(abspath $(DEMO))/packages/bin:$$PATH" \
		BELLJAR_BIN=$(BELLJAR) $(PYTHON) -B examples/demo

.PHONY: test
test: rust-test doc-test attack-test guest-test package-test  ## Run every test, as the user who calls

# The tests start the binary, so it is built before them. The attacks bring a runner of their own, which starts two at a time:
# they run alone.
.PHONY: rust-test
rust-test: binaries
	if cargo nextest --version >/dev/null 2>&1; then \
		cargo nextest run --locked --workspace --no-fail-fast -E 'not binary(attacks)'; \
	else \
		cargo test --locked --workspace --no-fail-fast --lib --bins --test agent --test '[!a]*'; \
	fi

.PHONY: doc-test
doc-test: binaries
	BELLJAR_BIN=$(abspath $(TARGET)/debug/belljar) cargo test --locked --workspace --doc

.PHONY: attack-test
attack-test: binaries
	cargo test --locked --package belljar-cli --test attacks

.PHONY: attack-release
attack-release: build  ## The attacks again, on the release binary
	BELLJAR_ATTACKED=$(abspath $(BELLJAR)) cargo test --locked --package belljar-cli --test attacks

.PHONY: binaries
binaries:
	cargo build --locked --workspace --bins

.PHONY: guest-test
guest-test: $(TOOLS)
	cd guest/tests && "$(abspath $(VENV))/bin/python" -B -m unittest

# The Python package, on the debug build of the binary. Under pytest-xdist, one of the programs that it must live in.
.PHONY: package-test
package-test: binaries $(TOOLS)
	rm -rf $(TARGET)/installs
	CARGO_TARGET_DIR=$(abspath $(TARGET)) "$(abspath $(VENV))/bin/python" -B python/tests/installs.py $(TARGET)/installs
	# That moves the binary away.
	cargo build --quiet --locked --workspace --bins
	BELLJAR_BIN=$(abspath $(TARGET)/debug/belljar) BELLJAR_INSTALLS=$(abspath $(TARGET)/installs) \
		"$(abspath $(VENV))/bin/python" -B -m pytest -p no:cacheprovider -n 2

# What people get from `pip install .`: the release build.
.PHONY: wheel
wheel: $(TOOLS)  ## Build the wheel, and try it in every kind of install
	rm -rf $(TARGET)/dist
	PATH="$(abspath $(VENV))/bin:$$PATH" CARGO_TARGET_DIR=$(abspath $(TARGET)) "$(abspath $(VENV))/bin/python" -m pip wheel --quiet \
		--disable-pip-version-check --no-deps --no-build-isolation --wheel-dir $(TARGET)/dist .
	BELLJAR_INSTALLS=$(abspath $(TARGET)/dist) BELLJAR_BIN=$(abspath $(TARGET)/release/belljar) \
		"$(abspath $(VENV))/bin/python" -B -m pytest -p no:cacheprovider python/tests/test_wheel.py -k 'not editable and not uv'
	@ls $(TARGET)/dist/*.whl

.PHONY: check
check: rust-check python-check docs-check  ## Formatting, lints, types, promises, generated references

.PHONY: rust-check
rust-check:
	# What a test needs and a machine lacks stands in tests/skips.toml; none is ignored.
	! git grep -nE '^ *#\[ignore' -- '*.rs'
	cargo fmt --all --check
	cargo metadata --locked --format-version 1 | $(PYTHON) .ci/crates.py
	if cargo deny --version >/dev/null 2>&1; then cargo deny --locked --offline check licenses bans sources; fi
	cargo clippy --locked --workspace --all-targets -- -D warnings
	# What `make build` links with need not be what the tests are built with, and their types differ.
	cargo check --locked --package belljar-cli --target $(TRIPLE)
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --locked --workspace --no-deps

.PHONY: python-check
python-check: $(TOOLS)
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check --quiet
	$(VENV)/bin/mypy guest/*.py
	$(VENV)/bin/mypy guest/tests
	$(VENV)/bin/mypy python/belljar
	MYPYPATH=python $(VENV)/bin/mypy python/tests
	# Typed code of a user, which both must see alike: pyproject.toml names it.
	$(VENV)/bin/pyright --pythonpath $(VENV)/bin/python
	MYPYPATH=python $(VENV)/bin/mypy examples
	MYPYPATH=python:tests/packages $(VENV)/bin/mypy tests/packages/run.py

.PHONY: docs-check
docs-check:
	$(DEV) promises
	$(DEV) links
	$(DEV) wrap
	$(DEV) references --check
	$(PYTHON) python/reference.py --check
	$(PYTHON) benches/first_screen.py --check

# The site fails for a link or an anchor that leads nowhere.
.PHONY: docs
docs: $(SITE_VENV)/complete  ## Write the generated references again, and build the site below target/site
	$(DEV) references
	$(PYTHON) python/reference.py
	$(PYTHON) benches/first_screen.py
	NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build --quiet --clean --site-dir $(abspath $(TARGET)/site)
	@echo "$(abspath $(TARGET)/site/index.html)"

$(SITE_VENV)/complete: docs/requirements.txt
	$(PYTHON) -m venv --clear $(SITE_VENV)
	$(SITE_VENV)/bin/pip install --quiet --disable-pip-version-check --requirement docs/requirements.txt
	touch $@

.PHONY: recording
recording:  ## Record `make demo` in a terminal of 100 columns; writes docs/assets/demo.svg
	$(PYTHON) benches/recording.py docs/assets/demo.svg $(MAKE) --no-print-directory demo

.PHONY: fmt
fmt: $(TOOLS)  ## Format Rust and Python
	cargo fmt --all
	$(VENV)/bin/ruff check --fix --quiet || true
	$(VENV)/bin/ruff format --quiet

.PHONY: bench
bench: build $(BENCH_VENV)/complete  ## Measure beside the bare interpreter, other sandboxes and a process pool; writes docs/figures
	cargo build --quiet --release --locked --package belljar-dev
	$(TARGET)/release/belljar-dev bench --belljar $(BELLJAR) --write docs/figures
	$(TARGET)/release/belljar-dev warm --belljar $(BELLJAR) --python $(PYTHON) --venv $(abspath $(BENCH_VENV)) --write docs/figures
	PYTHONPATH=python BELLJAR_BIN=$(abspath $(BELLJAR)) $(BENCH_VENV)/bin/python benches/package.py --belljar $(abspath $(BELLJAR)) \
		--dev $(TARGET)/release/belljar-dev --venv $(abspath $(BENCH_VENV)) --write docs/figures
	PYTHONPATH=python $(BENCH_VENV)/bin/python benches/environments.py --belljar $(abspath $(BELLJAR)) \
		--uv $(abspath $(BENCH_VENV))/bin/uv --write docs/figures
	$(TARGET)/release/belljar-dev wrap docs/figures/*.md

# A p99 takes many calls at twenty a second: eight minutes or so.
.PHONY: neighbours
neighbours: build  ## Measure a victim's calls beside hostile neighbours; writes docs/figures/neighbours.md
	cargo build --quiet --release --locked --package belljar-dev
	$(TARGET)/release/belljar-dev warm --belljar $(BELLJAR) --python $(PYTHON) --neighbours $(CALLS) --write docs/figures
	$(TARGET)/release/belljar-dev wrap docs/figures/neighbours.md

# The packages that a pool is measured with.
$(BENCH_VENV)/complete: benches/packages.txt
	$(PYTHON) -m venv --clear $(BENCH_VENV)
	$(BENCH_VENV)/bin/pip install --quiet --disable-pip-version-check --only-binary :all: --requirement benches/packages.txt
	chmod -R a+rX $(BENCH_VENV)
	touch $@

# Needs a network, and takes minutes and some gigabytes of the cache folder.
.PHONY: packages
packages: binaries $(TOOLS)  ## Try the most used packages in jars, from the registry; writes docs/reference/packages.md
	PATH="$(abspath $(VENV))/bin:$$PATH" PYTHONPATH=python BELLJAR_BIN=$(abspath $(TARGET)/debug/belljar) \
		$(VENV)/bin/python -B tests/packages/run.py $(if $(ONLY),--only $(ONLY),--write docs/reference/packages.md) \
		$(if $(INSTALLED),--installed $(abspath $(INSTALLED)))
	$(DEV) wrap docs/reference/packages.md

# Real kernels, systemd, AppArmor and cgroup version 2. Needs root, qemu-system-x86 and debootstrap; images are made once.
SUITES ?= bookworm trixie
VM := $(TARGET)/vm
.PHONY: vm
vm: build $(SUITES:%=$(VM)/%.img)  ## Try the limits in virtual machines, from every place that people start programs from
	rm -rf $(VM)/payload && mkdir -p $(VM)/payload
	cp tests/vm/*.py tests/vm/job.sh $(BELLJAR) $(VM)/payload/
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --target $(VM)/payload/python cloudpickle==3.1.2
	cp -r python/belljar $(VM)/payload/python/
	for suite in $(SUITES); do \
		echo "== $$suite"; VM_FOLDER=$(VM) tests/vm/boot $$suite $(VM)/payload | tee $(VM)/$$suite.txt; \
	done

$(VM)/%.img: tests/vm/image
	tests/vm/image $* $(VM)

.PHONY: soak
soak: build  ## Two thousand runs, ten thousand warm jobs, two thousand kills: nothing may be left, nothing may grow
	cargo build --quiet --release --locked --package belljar-dev
	$(TARGET)/release/belljar-dev soak --belljar $(BELLJAR) --runs $(RUNS) --warm $(JOBS)
	BELLJAR_STORM=$(KILLS) BELLJAR_TEST_SECONDS=7200 \
		cargo test --locked --package belljar-cli --test jar -- --test-threads=1 warm_storm:: warm_preload::

# Coverage comes from the compiler's own pass, so that any compiler will do; `cargo +nightly fuzz run TARGET` works as well.
FUZZ_FLAGS := --cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares
FUZZ_HOST := $(shell rustc -vV | sed -n 's/^host: //p')

.PHONY: fuzz
fuzz:  ## Fuzz each target for SECONDS
	cd fuzz && RUSTFLAGS="$(FUZZ_FLAGS)" cargo build --locked --release --target-dir target --target $(FUZZ_HOST)
	for target in $$(ls fuzz/seeds); do \
		echo "== $$target"; \
		mkdir -p fuzz/corpus/$$target fuzz/artifacts/$$target; \
		fuzz/target/$(FUZZ_HOST)/release/$$target fuzz/corpus/$$target fuzz/seeds/$$target \
			-artifact_prefix=fuzz/artifacts/$$target/ -max_total_time=$(SECONDS) -rss_limit_mb=2048 -print_final_stats=1; \
	done

.PHONY: install
install: build  ## Install binary, man pages and completions below PREFIX
	install -Dm755 $(BELLJAR) "$(DESTDIR)$(PREFIX)/bin/belljar"
	mkdir -p "$(DESTDIR)$(PREFIX)/share/man/man1"
	$(BELLJAR) man > "$(DESTDIR)$(PREFIX)/share/man/man1/belljar.1"
	for command in run exec shell plan env doctor; do \
		$(BELLJAR) man $$command > "$(DESTDIR)$(PREFIX)/share/man/man1/belljar-$$command.1"; \
	done
	mkdir -p "$(DESTDIR)$(PREFIX)/share/bash-completion/completions" \
		"$(DESTDIR)$(PREFIX)/share/zsh/site-functions" "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d"
	$(BELLJAR) completions bash > "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/belljar"
	$(BELLJAR) completions zsh > "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_belljar"
	$(BELLJAR) completions fish > "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/belljar.fish"

# A virtualenv with the pinned tools. Where the distribution leaves ensurepip out, virtualenv brings its own pip.
$(TOOLS): requirements-dev.txt
	mkdir -p $(TARGET)
	$(PYTHON) -m venv --clear $(VENV) 2>/dev/null \
		|| { $(PYTHON) -m pip install --quiet --target $(TARGET)/virtualenv virtualenv \
			&& PYTHONPATH=$(TARGET)/virtualenv $(PYTHON) -m virtualenv --quiet --clear $(VENV); }
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	touch $@

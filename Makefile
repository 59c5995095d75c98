# All developer tasks. CMake and Maven do the work and build only changed parts.
#   make demo    a query over a real capture through the whole pipeline
#   make test    every test except the long ones
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BUILD := build
JOBS ?= $(shell nproc)
MVN := mvn -B -q
CMAKE_FLAGS := -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTAPLINE_UNITY=ON
# Build trees with sanitizers and fuzzers.
CLANG := -DCMAKE_C_COMPILER=clang-16 -DCMAKE_CXX_COMPILER=clang++-16
# WERROR=1: compiler warnings are errors, except in sanitized code, for which GCC reports false warnings.
ifdef WERROR
WARNINGS := -DCMAKE_COMPILE_WARNING_AS_ERROR=ON
endif
JAVA_MODULES := schema network conditions placement aggregates query-compiler sdn-app flink-jobs sim control-plane bench
JAVA_SOURCES = $(shell find $(JAVA_MODULES) -path '*/target' -prune -o -path '*/src/test' -prune -o -type f \
  \( -name '*.java' -o -name '*.g4' -o -name '*.proto' -o -name pom.xml -o -path '*/src/main/resources/*' \) -print)
export TAPLINE_CAPTURES ?= $(abspath ../shared/traces)
FUZZ_SECONDS ?= 600

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: deps
deps: ## Install the system packages that are missing (root or sudo)
	@deploy/install-packages.sh >/dev/null

.PHONY: build-deps
build-deps:
	@deploy/install-packages.sh build >/dev/null

# The demo configures only its monitor (TAPLINE_DEMO); all other targets configure everything.
.PHONY: configure
configure: build-deps
	@grep -qs '^TAPLINE_DEMO:BOOL=OFF' $(BUILD)/CMakeCache.txt && [ -f $(BUILD)/build.ninja ] || \
	  cmake -S . -B $(BUILD) $(CMAKE_FLAGS) $(WARNINGS) -DTAPLINE_DEMO=OFF >/dev/null

.PHONY: native
native: configure
	@ninja -C $(BUILD) -j $(JOBS)

# The programs in a cluster's images, without tests and benchmarks.
.PHONY: programs
programs: configure
	@ninja -C $(BUILD) -j $(JOBS) tapline-agent tapline-monitor tapline-multilog

# The dashboard: npm downloads packages only if the lock file has changed.
NPM := npm --prefix dashboard --loglevel=error
DASHBOARD_SOURCES = $(shell find dashboard/src -type f) $(wildcard dashboard/*.json dashboard/*.ts dashboard/*.html dashboard/.npmrc)

dashboard/node_modules/.package-lock.json: dashboard/package-lock.json dashboard/package.json
	@echo "Fetching the dashboard's dependencies…"
	@$(NPM) ci >/dev/null
	@touch $@

$(BUILD)/dashboard/index.html: $(DASHBOARD_SOURCES) dashboard/node_modules/.package-lock.json
	@echo "Building the dashboard…"
	@$(NPM) run --silent build -- --logLevel warn

# Includes the dashboard if it is built. Tests are compiled when they are run.
$(BUILD)/java/.built: pom.xml $(JAVA_SOURCES) $(wildcard $(BUILD)/dashboard/index.html)
	@$(MVN) -T $(JOBS) -Pprograms package
	@mkdir -p $(@D) && touch $@

.PHONY: java
java: build-deps
	@$(MAKE) $(BUILD)/dashboard/index.html
	@$(MAKE) $(BUILD)/java/.built

# Class data archive (CDS) of a run, which bin/tapline maps; without it, startup takes twice as long.
RUN := bin/tapline run "PARSE http_get FROM * TO *:80 LIMIT 90s SAMPLE * PROCESS (top-k: k=3, w=10s)" --pcap testbed/captures/http_small.pcap.zst
archive = rm -f $(BUILD)/java/classes.jsa && TAPLINE_JAVA_OPTS="-XX:ArchiveClassesAtExit=$(BUILD)/java/classes.jsa -Xlog:cds=off -Xlog:cds+dynamic=off"
$(BUILD)/java/classes.jsa: $(BUILD)/java/.built
	@$(archive) $(RUN) >/dev/null 2>$(BUILD)/java/archive.log || echo "no class archive: see $(BUILD)/java/archive.log"

.PHONY: build
build: build-deps ## Build everything
	@$(MAKE) -j 2 native java
	@$(MAKE) -s $(BUILD)/java/classes.jsa

.PHONY: demo-monitor
demo-monitor:
	@[ -f $(BUILD)/build.ninja ] || cmake -S . -B $(BUILD) $(CMAKE_FLAGS) $(WARNINGS) -DTAPLINE_DEMO=ON
	@ninja -C $(BUILD) -j $(JOBS) tapline-monitor

.PHONY: demo-java
demo-java:
	@$(MAKE) MVN="$(filter-out -q,$(MVN))" $(BUILD)/java/.built

.PHONY: demo
demo: ## Run a query over a real capture through the whole pipeline
	@make/prepare-demo
	@if [ $(BUILD)/java/classes.jsa -nt $(BUILD)/java/.built ]; then bin/tapline demo; else \
	  echo "The first run also archives its classes for faster starts, so it ends a few seconds after its results." >&2; \
	  $(archive) bin/tapline demo; fi

.PHONY: test
test: deps ## Run every test except the long ones
	@PYTHONDONTWRITEBYTECODE=1 MAKE=$(MAKE) make/test

# The last run's reports; from them, make/results.py prints the slowest tests and those that were skipped.
REPORTS := $(abspath $(BUILD))/test
ctest = mkdir -p $(REPORTS) && ctest --test-dir $(1) --output-on-failure -j $(JOBS) \
  --test-output-size-passed 1000000 --output-junit $(REPORTS)/$(2).xml
results = python3 -B make/results.py $(REPORTS)/$(1).xml

.PHONY: test-native
test-native: deps native java
	@$(call ctest,$(BUILD),native)
	@$(call results,native)

# The native tests under AddressSanitizer and UndefinedBehaviourSanitizer.
.PHONY: sanitized
sanitized: deps
	@cmake -S . -B $(BUILD)/sanitized $(CMAKE_FLAGS) $(CLANG) -DTAPLINE_SANITIZE=address,undefined >/dev/null
	@ninja -C $(BUILD)/sanitized -j $(JOBS)

.PHONY: test-sanitized
test-sanitized: sanitized
	@$(call ctest,$(BUILD)/sanitized,sanitized)
	@$(call results,sanitized)

# Tests of data that threads share without locks, under ThreadSanitizer.
THREAD_TESTS = dispatch_test doorbell_test event_ring_test host_triggers_test lane_inbox_test \
  multilog_concurrency_test multilog_snapshots_test row_ring_test spsc_ring_test trigger_swap_test
.PHONY: threads
threads: deps
	@cmake -S . -B $(BUILD)/threads $(CMAKE_FLAGS) $(CLANG) -DTAPLINE_SANITIZE=thread >/dev/null
	@ninja -C $(BUILD)/threads -j $(JOBS) $(THREAD_TESTS)

.PHONY: test-threads
test-threads: threads
	@$(call ctest,$(BUILD)/threads,threads) -R '^($(subst $() ,|,$(THREAD_TESTS)))$$'
	@$(call results,threads)

# Both trees with sanitizers, one after the other.
.PHONY: instrumented
instrumented: sanitized threads

.PHONY: test-java
test-java: deps build
	@mvn -B verify

.PHONY: test-dashboard
test-dashboard: deps build
	@mkdir -p $(REPORTS)
	@$(NPM) test -- --reporter=default --reporter=junit --outputFile.junit=$(REPORTS)/dashboard.xml
	@$(NPM) run test:browser -- --reporter=default --reporter=junit --outputFile.junit=$(REPORTS)/browser.xml

.PHONY: test-cluster
test-cluster: deps build
	@deploy/cluster check

SIZE ?= full
.PHONY: cluster-ready
cluster-ready:
	@deploy/cluster ready

.PHONY: cluster
cluster: deps cluster-ready programs java ## Start the cluster in Docker and run a query over traffic between its containers (SIZE=small for a laptop)
	@deploy/cluster up $(SIZE)
	@deploy/cluster show

.PHONY: cluster-down
cluster-down: ## Remove that cluster completely
	@deploy/cluster down

.PHONY: reference
reference: build ## Regenerate docs/reference/configuration.md from the programs' options
	@bin/tapline reference >$(BUILD)/configuration.md
	@mv $(BUILD)/configuration.md docs/reference/

# CHAOS="--only kafka-1+kafka-2,redis --kinds kill,cut" runs a part; the whole run takes 45 minutes.
.PHONY: chaos
chaos: deps cluster-ready programs java ## Kill, freeze and cut off the containers of a separate cluster, one and two at a time; check results and recovery times; then restore it from a backup
	@deploy/cluster chaos $(SIZE) $(CHAOS)

# The site for a release is build/docs, built from the release's tag: the header shows the version in pom.xml.
.PHONY: docs
docs: deps build ## Build the documentation site in build/docs, check its links, and run its commands
	@make/links
	@make/site/build
	@PYTHONDONTWRITEBYTECODE=1 make/blocks

# ONLY=NAME,… runs the named figures, including those that take longer; ONLY=all runs all. WRITE=1 replaces the
# committed figures.
.PHONY: figures
figures: deps build ## Regenerate the figures of docs/ that take minutes, and show differences from the committed ones
	@make/figures $(if $(ONLY),--only $(ONLY)) $(if $(WRITE),--write)

.PHONY: sbom
sbom: java ## List Tapline's components as CycloneDX in build/sbom: jars, npm packages, Debian packages of the images
	@deploy/sbom

.PHONY: packages
packages: programs java ## Build Debian packages in build/packages
	@deploy/install-packages.sh packaging/packages.txt
	@packaging/build
	@packaging/check build/packages

.PHONY: test-packages
test-packages: packages ## Install the packages in a container, query, upgrade and purge them (root, and Debian's packages)
	@deploy/install-packages.sh packaging/tests/packages.txt
	@packaging/tests/lifecycle

.PHONY: bench
bench: deps build ## Compare with baselines (needs an idle machine)
	@bench/run

.PHONY: fuzz
fuzz: deps ## Fuzz decoding, reassembly and every parser, FUZZ_SECONDS each (600)
	@cmake -S . -B $(BUILD)/fuzzing -G Ninja $(CLANG) -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DTAPLINE_FUZZ=ON -DTAPLINE_SANITIZE=address,undefined >/dev/null
	@ninja -C $(BUILD)/fuzzing -j $(JOBS) fuzzers
	@bench/fuzz run $(BUILD)/fuzzing/fuzz $(FUZZ_SECONDS)

.PHONY: fuzz-api
fuzz-api: deps build ## Fuzz the REST interface by its OpenAPI document, as an admin, as an analyst and without a token (fetches schemathesis)
	@bench/fuzz_api

# MUTANTS="--only trigger --fresh" runs a part, including mutants that were killed earlier.
.PHONY: mutants
mutants: deps programs ## Apply small faults, one at a time, and print those that survive
	@bench/mutants/run $(MUTANTS)

.PHONY: soak
soak: deps build ## Run the long tests: kill MultiLog, Flink, Kafka, Redis and mirroring; check a million snapshots, packets of a queue and inferred ports, and 10,000 programs of triggers; run queries over real switches; attack a monitor and load a server for SOAK_SECONDS (600)
	@MULTILOG_KILLS=200 $(BUILD)/tests/multilog_crash_test
	@TAPLINE_SNAPSHOTS=1000000 $(BUILD)/tests/multilog_snapshots_test
	@TRIGGER_SEEDS=10000 $(BUILD)/tests/trigger_oracle_test
	@TAPLINE_QUEUE_PACKETS=1000000 TAPLINE_QUEUE_FLOOD=100000000 TAPLINE_RANDOM_QUEUES=100000 $(BUILD)/tests/queues_test
	@$(MVN) -pl flink-jobs -am test-compile surefire:test -Dtest='*Soak' -Dsurefire.failIfNoSpecifiedTests=false
	@$(MVN) -pl control-plane -am test-compile surefire:test@end-to-end -Dtest='FirstWindowsSoak,MirroringSoak,TakeoverSoak,ShopSoak,PlacedStreamSoak,CollectorKilledSoak,FourQueuesSoak' -Dsurefire.failIfNoSpecifiedTests=false
	@TAPLINE_LINK_SECONDS=$(or $(SOAK_SECONDS),600) $(MVN) -pl control-plane -am test-compile surefire:test@end-to-end -Dtest=CollectorTest -Dsurefire.failIfNoSpecifiedTests=false
	@TAPLINE_REROUTED_PACKETS=1000000 TAPLINE_REROUTED_CHANGES=100 TAPLINE_REROUTED_PACKETS_PER_SECOND=1000 $(MVN) -pl control-plane -am test-compile surefire:test@end-to-end -Dtest=ReroutedPortsTest -Dsurefire.failIfNoSpecifiedTests=false
	@TAPLINE_ROUTE_PACKETS=1000000 TAPLINE_ROUTE_CHANGES=100 TAPLINE_ROUTE_PACKETS_PER_SECOND=4000 TAPLINE_MONITOR=$(BUILD)/bin/tapline-monitor monitors/routes_test.py
	@testbed/queues/run
	@bench/soak_monitor
	@bench/soak

.PHONY: lint
lint: deps ## Check formatting and lint
	@git ls-files --cached --others --exclude-standard '*.cc' '*.h' | xargs -r clang-format-14 --dry-run --Werror
	@$(MVN) spotless:check
	@bench/mutants/run --check
	@make/includes
	@make/figures --check
	@make/links
	@make/blocks --list
	@make/prose

.PHONY: format
format: deps ## Format all sources
	@git ls-files --cached --others --exclude-standard '*.cc' '*.h' | xargs -r clang-format-14 -i
	@$(MVN) spotless:apply

.PHONY: clean
clean: ## Remove everything that was built
	@rm -rf $(BUILD) $(addsuffix /target,$(JAVA_MODULES))

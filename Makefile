# esgsim: build, test, reproduce. `make help` lists the targets.
#
#   sim sched workloads traces  ->  libesgsim.a          (the simulator, embeddable)
#   sim/main.c sim/cli sim/run results plots  +  libesgsim.a  ->  esgsim
#   the same objects  ->  esgsim.so          (what the suites and policies in Python link)

ifeq ($(origin CC),default)
CC := gcc
endif
PREFIX   ?= /usr/local
DESTDIR  ?=
BUILD    ?= build
JOBS     ?= $(shell nproc 2>/dev/null || echo 2)
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(JOBS) --no-print-directory
endif

VERSION  := $(shell sed -n 's/^version: *//p' CITATION.cff)
# A clone that belongs to another user (root builds it, say) is described as well.
COMMIT   := $(shell test -e .git && git -c safe.directory='*' describe --always --dirty --abbrev=12 --match=- 2>/dev/null)
COMMIT   := $(or $(COMMIT),$(shell sed -n 's/^\([0-9a-f]\{12\}\).*/\1/p' .ci/commit 2>/dev/null))
DATADIR  := $(PREFIX)/share/esgsim

# make V=1 shows whole command lines.
Q        := $(if $(V),,@)
SAY      := $(if $(V),@:,@echo)

# ---- Flags -----------------------------------------------------------------------------------

# No contraction: a fused multiply-add rounds once, so results would differ between machines.
STD      := -std=c11 -D_GNU_SOURCE -ffp-contract=off
# What is called by way of a table is handed more than each entry needs.
WARN     := -Wall -Wextra -Wpedantic -Wconversion -Wno-unused-parameter -Werror
# LTO is empty but for the rooms through which a request passes (see HOT). Another OPT has none.
OPT      ?= -O2 $(LTO)
SANITIZE ?=
CFLAGS   ?= -g
# What is asserted at every step (sim/base/invariant.h) is for builds that need not be fast.
INVARIANTS = $(if $(SANITIZE)$(filter -O0,$(OPT)),-DESGSIM_INVARIANTS)
HDF5     := $(shell pkg-config --exists hdf5-serial 2>/dev/null && echo hdf5-serial || echo hdf5)
PKGS     := gsl libcjson $(HDF5) zlib nettle
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS   := $(shell pkg-config --libs $(PKGS) 2>/dev/null)
# Order matters: whatever Debian's .pc files leave out of the chain, hdf5_hl stands before hdf5.
LDLIBS   := $(filter -L%,$(PKG_LIBS)) -lhdf5_hl $(filter-out -L%,$(PKG_LIBS)) -lm -ldl
PREPROCESS := $(STD) -I. $(PKG_CFLAGS)
# Objects serve the program, the archive and the shared library alike. The program's own names are not to
# be replaced from outside, so gcc may inline across them.
PIC      := -fPIC -fno-semantic-interposition
COMPILE   = $(CC) $(PREPROCESS) $(WARN) $(PIC) $(OPT) $(SANITIZE) $(CFLAGS) $(INVARIANTS) $(DEFINES) -MMD -MP
LINK      = $(CC) $(OPT) $(SANITIZE) $(CFLAGS) $(LDFLAGS)
# Policies built outside the tree find every function of the contract in the program, and no other
# name: the program's own functions must not take the place of a policy's.
CONTRACT := $(sort $(wildcard sched/policy*.h)) sim/base/parameters.h sim/base/error.h workloads/world/workload.h \
            workloads/training/training_models.h
EXPORT    = -Wl,--dynamic-list=$(BUILD)/contract.list
WHOLE     = -Wl,--whole-archive $(BUILD)/libesgsim.a -Wl,--no-whole-archive $(EXPORT)
# A suite, and with SHARED=1 the program itself, is linked with the shared library in a moment. The loader
# looks for it in LD_LIBRARY_PATH before the build, so that a mutant can take its place.
SHARED   ?=
LIBRARY   = -L$(BUILD) -Wl,--no-as-needed -l:esgsim.so -Wl,--as-needed -Wl,--enable-new-dtags,-rpath,'$$ORIGIN$(1)'

# Neither compiler counts a double that an integer cannot hold to undefined behaviour as a whole.
UNDEFINED := undefined,float-cast-overflow
SAN_BUILD := $(BUILD)/sanitized
# Reports need functions and lines of what they name, no variables.
SAN_FLAGS := BUILD=$(SAN_BUILD) OPT='-O1 -fno-omit-frame-pointer' CFLAGS=-g1 \
             SANITIZE='-fsanitize=address,$(UNDEFINED) -fno-sanitize-recover=all'

# ---- Sources ---------------------------------------------------------------------------------

# The rooms of the library. A user's program and a policy see the headers of all of them.
ROOMS    := $(addprefix sim/,base engine cluster platform backend) sched $(patsubst %/,%,$(wildcard sched/*/)) \
            $(addprefix workloads/,load world arrivals training spec sweep) $(addprefix traces/,readers profile calibrate)
LIB_SRC  := $(foreach room,$(ROOMS),$(wildcard $(room)/*.c))
CLI_SRC  := $(wildcard sim/run/*.c sim/cli/*.c results/*/*.c plots/*.c)
SCHEMA_SRC := $(wildcard workloads/schemas/*.c)
TEST_SRC := $(wildcard tests/test_*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
HEADERS  := $(foreach room,$(ROOMS),$(wildcard $(room)/*.h))
# Headers of the simulator's own state, which are not installed.
PRIVATE  := %_internal.h \
            $(filter-out %/metrics.h %/simulation.h,$(wildcard sim/platform/*.h))
ALL_SRC  := $(LIB_SRC) $(CLI_SRC) $(wildcard sim/main.c) $(SCHEMA_SRC) $(TEST_SRC) tests/digest.c \
            $(wildcard tests/fuzz/*.c tests/mutants/*.c tests/plugins/*.c sim/examples/*.c)
ALL_HDR  := $(HEADERS) $(wildcard sim/run/*.h sim/cli/*.h results/*/*.h plots/*.h tests/*.h \
            tests/fuzz/*.h)

PLUGINS  := $(patsubst %.c,$(BUILD)/%.so,$(wildcard tests/plugins/*.c))
LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/%.o)
CLI_OBJ  := $(CLI_SRC:%.c=$(BUILD)/%.o)
TESTS    := $(TEST_SRC:tests/%.c=$(BUILD)/tests/%)
# Those of random trials, of which the sanitized ones make a tenth.
WHOLE_TESTS := $(patsubst %.c,$(BUILD)/%,$(shell grep -l '\btrials.[A-Z0-9]' $(TEST_SRC) /dev/null))
REPLAYS  := $(FUZZ_SRC:tests/fuzz/fuzz_%.c=$(BUILD)/tests/replay_%)
FUZZERS  := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/tests/%)

# ---- Build -----------------------------------------------------------------------------------

.DELETE_ON_ERROR:
.SECONDARY:

.PHONY: all
all: $(BUILD)/esgsim ## build the program (default)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(SAY) compile $@
	$(Q)$(COMPILE) -c $< -o $@

# Version, commit and the digest of the sources are compiled into the few files that name them, and
# only those are compiled again when one of the three changes. The digest is the same on every machine
# and with every compiler. An installed program finds its data beside itself.
SOURCES  := $(shell sha256sum $(sort $(LIB_SRC) $(CLI_SRC) sim/main.c $(HEADERS) \
              $(wildcard sim/run/*.h sim/cli/*.h results/*/*.h plots/*.h sim/*/*.def)) | sha256sum | cut -c1-12)
IDENTITY := $(VERSION) $(COMMIT) $(SOURCES)
IDENTITY_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(shell grep -lE 'ESGSIM_(VERSION|COMMIT|DATADIR)' \
                  $(ALL_SRC) /dev/null))
$(IDENTITY_OBJ): DEFINES := -DESGSIM_VERSION='"$(VERSION)"' -DESGSIM_DATADIR='"/usr/local/share/esgsim"' \
                            -DESGSIM_COMMIT='"$(or $(COMMIT),unknown)"' -DESGSIM_SOURCES='"$(SOURCES)"'
$(IDENTITY_OBJ): $(BUILD)/identity
.PHONY: FORCE
$(BUILD)/identity: $(if $(shell echo '$(IDENTITY)' | cmp -s - $(BUILD)/identity || echo new),FORCE)
	@mkdir -p $(@D)
	@echo '$(IDENTITY)' >$@

# A request passes through a hundred small functions of these rooms. gcc optimises the rooms as one, a
# single time. The archive holds ordinary code, so that programs are linked without LTO. Of its own accord
# gcc inlines only tiny functions, and with -r none that a shared library could replace. Its limit on the
# program's growth is kept, and lies higher for the rooms through which all requests pass.
HOT      := $(filter $(addprefix $(BUILD)/,sim/engine/% sim/cluster/% sim/platform/% sched/% traces/profile/%),$(LIB_OBJ))
HOTTEST  := $(filter $(addprefix $(BUILD)/,sim/engine/% sim/cluster/% sim/platform/% sched/common/% sched/simple/%),$(HOT))
AS_ONE   := $(if $(findstring clang,$(CC)),,$(findstring $$(LTO),$(value OPT)))
as_one    = $(if $(AS_ONE),-flto=auto --param=max-inline-insns-auto=$(1) -fno-semantic-interposition)
$(HOT) $(BUILD)/hot.o: LTO := $(call as_one,40)
$(HOTTEST): LTO := $(call as_one,100)
$(BUILD)/hot.o: $(HOT)
	$(SAY) 'optimise $@: the rooms of a request as one, a third of the build'
	$(Q)$(LINK) -r -flinker-output=nolto-rel -o $@ $^

$(BUILD)/contract.list: $(CONTRACT) Makefile
	@mkdir -p $(@D)
	@{ echo '{'; sed -n 's/^[a-z][^(]*[ *]\([a-z_0-9]*\)(.*/\1;/p' $(CONTRACT); echo '};'; } >$@

ROOMS_OBJ := $(if $(AS_ONE),$(BUILD)/hot.o $(filter-out $(HOT),$(LIB_OBJ)),$(LIB_OBJ))
$(BUILD)/libesgsim.a: $(ROOMS_OBJ) | $(BUILD)/contract.list
	$(SAY) archive $@
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# Renamed when it is whole: a sweep that runs keeps the program that it began with.
$(BUILD)/esgsim: $(if $(SHARED),$(BUILD)/esgsim.so,$(BUILD)/sim/main.o $(CLI_OBJ) $(BUILD)/libesgsim.a)
	$(SAY) link $@
	$(Q)$(LINK) -o $@.new $(filter %.o,$^) $(if $(SHARED),$(call LIBRARY,),$(WHOLE)) $(LDLIBS)
	$(Q)mv -f $@.new $@

# The program as a library: for the suites, and for policies in Python (results/python/esgsim_policy.py), with
# the headers of which it is made.
$(BUILD)/esgsim.so: $(BUILD)/sim/main.o $(CLI_OBJ) $(ROOMS_OBJ)
	$(SAY) link $@
	$(Q)$(LINK) -shared -Wl,-Bsymbolic -o $@.new $^ $(LDLIBS)
	$(Q)mv -f $@.new $@

# Once it is there, a suite need not be linked again when the library changes.
$(TESTS): $(BUILD)/tests/%: $(BUILD)/tests/%.o | $(BUILD)/esgsim.so
	$(SAY) link $@
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(call LIBRARY,/..) $(LDLIBS) -lcmocka

# Policies as a user would build them, for the tests that load one.
$(PLUGINS): $(BUILD)/%.so: %.c
	@mkdir -p $(@D)
	$(SAY) link $@
	$(Q)$(CC) $(PREPROCESS) $(WARN) $(SANITIZE) $(CFLAGS) -MMD -MP -shared -fPIC -o $@ $<

$(BUILD)/tests/digest: tests/digest.c
	@mkdir -p $(@D)
	$(SAY) link $@
	$(Q)$(COMPILE) -o $@ $< $(LDLIBS)

# The fuzz targets with a main of our own that replays the corpus.
$(REPLAYS): $(BUILD)/tests/replay_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/input.o \
            $(BUILD)/tests/fuzz/replay.o | $(BUILD)/esgsim.so
	$(SAY) link $@
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(call LIBRARY,/..) $(LDLIBS)

# The same with libFuzzer's main.
$(FUZZERS): $(BUILD)/tests/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/input.o \
            $(CLI_OBJ) $(BUILD)/libesgsim.a
	$(SAY) link $@
	$(Q)$(LINK) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(WHOLE) $(LDLIBS)

.PHONY: derive
derive: $(BUILD)/esgsim ## derive traces/profiles/*.json again from the measured tables
	python3 traces/profiles/derive.py
	sh traces/profiles/raw/infless/profile.sh $(BUILD)/esgsim traces/profiles/2080ti-infless.json >/dev/null
	sh traces/profiles/raw/h200/profile.sh $(BUILD)/esgsim traces/profiles/h200-green.json >/dev/null

# What the loaders ask of the files that ship and of tests/schemas/, which have every form.
SCHEMA_FILES := $(filter-out workloads/schemas/%,$(sort $(wildcard workloads/*/*.json workloads/*/*/*.json \
                  traces/profiles/*.json results/paper/*.json tests/schemas/*.json)))

# The suite gives the sanitized one.
SCHEMA_PROGRAM ?= $(BUILD)/schemas

$(BUILD)/schemas: $(SCHEMA_SRC:%.c=$(BUILD)/%.o) $(CLI_OBJ) $(BUILD)/libesgsim.a
	$(SAY) link $@
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(WHOLE) $(LDLIBS)

.PHONY: schemas
schemas: $(SCHEMA_PROGRAM) $(BUILD)/esgsim.so ## write what the loaders and tables of the program say: workloads/schemas/*.json, the JSON Schemas of the input files, sim/KEYS.md and results/COLUMNS.md
	$< $(SCHEMA_FILES) >$(BUILD)/questions.jsonl
	python3 workloads/schemas/schemas.py $(or $(SCHEMAS),workloads/schemas) $(or $(SCHEMAS),sim)/KEYS.md <$(BUILD)/questions.jsonl
	python3 results/columns.py $(BUILD)/esgsim.so >$(or $(SCHEMAS),results)/COLUMNS.md

# ---- What is needed --------------------------------------------------------------------------

# The flags above are read from pkg-config when make starts, so what follows an installation is a
# make of its own.
.PHONY: deps
deps: ## install what is missing, with the system's package manager
	@sh .ci/deps.sh build study plots site test lint

# One call a target: two package managers at once would fight for the lock.
.PHONY: deps-reproduce deps-site deps-test deps-lint deps-browser deps-fuzz
deps-reproduce:
	@sh .ci/deps.sh build study $(if $(filter none,$(FIGURES)),,plots)
deps-site:
	@sh .ci/deps.sh site
deps-test:
	@sh .ci/deps.sh build study plots site test
deps-lint:
	@sh .ci/deps.sh build study plots site test lint
deps-browser:
	@sh .ci/deps.sh build study plots site test lint browser
deps-fuzz:
	@sh .ci/deps.sh build test fuzz

# ---- The main job ----------------------------------------------------------------------------

SWEEP     ?= workloads/experiments/paper.json
RESULTS   ?= results/paper.h5
PUBLISHED := $(wildcard results/paper/esg-hpdc24.json)
HEADLINE  ?= workloads/experiments/headline.json
LOADS     := $(dir $(RESULTS))headline.h5
FIGURES   ?= $(dir $(RESULTS))figures
PAGE      ?= $(RESULTS:.h5=.html)
# README speaks of these two sweeps alone.
STATED     = $(and $(if $(REDUCED),,yes),$(filter workloads/experiments/paper.json,$(SWEEP)),$(filter workloads/experiments/headline.json,$(HEADLINE)))

comma     := ,
# FIGURES=none: tables alone, for a machine without gnuplot. HEADLINE=none: SWEEP alone.
# REDUCED=1, as in CI: one seed, and the first setting of the headline; no sentence can be checked by it.
REDUCED   ?=
PAPER_PART    := $(if $(REDUCED),--set seeds=1)
HEADLINE_PART := $(if $(REDUCED),--set seeds=1 --set 'matrix.setting=[{"name":"mig-phi20"$(comma)"cluster":"../clusters/esg-16-mig.json"$(comma)"profile":"../../traces/profiles/esg-reconstructed.json"}]')
.PHONY: reproduce
reproduce: deps-reproduce ## install, build, run headline and paper, print tables, draw figures, check README
	@test '$(FIGURES)' = none || command -v gnuplot >/dev/null 2>&1 || { echo "reproduce: there is no" \
	  "gnuplot, which draws the figures; install it, or run: make reproduce FIGURES=none" >&2; exit 1; }
	@start=$$(date +%s); set -e; \
	$(MAKE) all; \
	built=$$(date +%s); \
	show() { echo "$(BUILD)/esgsim $$*" >&2; $(BUILD)/esgsim "$$@"; }; \
	sweep() { file=$$1 to=$$2; shift 2; show sweep "$$file" --jobs $(JOBS) --restart --out "$$to" "$$@"; }; \
	page() { results=$$1 page=$$2 sweep=$$3; shift 3; \
	  show report "$$results" "$$@" --format html --out "$$page" --command "esgsim sweep $$sweep --out $$results"; }; \
	figures() { test '$(FIGURES)' = none || show plot "$$@" --out '$(FIGURES)' >/dev/null; }; \
	test '$(HEADLINE)' = none || sweep $(HEADLINE) $(LOADS) $(HEADLINE_PART); \
	sweep $(SWEEP) $(RESULTS) $(PAPER_PART); \
	test '$(HEADLINE)' = none || show report $(LOADS); \
	show report $(RESULTS) $(PUBLISHED:%=--paper %) --out $(RESULTS:.h5=.txt); \
	show report $(RESULTS) $(PUBLISHED:%=--paper %) --verdicts; \
	page $(RESULTS) $(PAGE) $(SWEEP) $(PUBLISHED:%=--paper %) & drawing=$$!; \
	test '$(HEADLINE)' = none || { page $(LOADS) $(LOADS:.h5=.html) $(HEADLINE); figures $(LOADS); }; \
	figures $(RESULTS) --only settings; \
	wait $$drawing; \
	end=$$(date +%s); \
	echo "reproduce: $$((end - start)) s ($$((built - start)) s of it to build); results in" \
	  "$(if $(filter none,$(HEADLINE)),,$(LOADS) and )$(RESULTS), pages to read and all" \
	  "tables beside them$(if $(filter none,$(FIGURES)),,$(comma) figures in $(FIGURES))"; \
	$(if $(STATED),python3 results/sentences.py reproduce $(BUILD)/esgsim $(LOADS) $(RESULTS))

# The pages that studies write (results/pages/README.md).
PAGES    := $(dir $(RESULTS))pages
ROBUSTNESS := $(dir $(RESULTS))robustness.h5
ROBUSTNESS_SVG := $(dir $(RESULTS))paper/robustness.svg
.PHONY: robustness
robustness: all ## study what errors in the profile cost each policy: sweep, results/pages/ROBUSTNESS.md, figures
	$(BUILD)/esgsim sweep workloads/experiments/robustness.json --jobs $(JOBS) --restart --out $(ROBUSTNESS)
	mkdir -p $(dir $(ROBUSTNESS_SVG)) $(PAGES)
	python3 results/robustness.py $(BUILD)/esgsim $(ROBUSTNESS) $(if $(filter none,$(FIGURES)),,$(ROBUSTNESS_SVG)) >$(ROBUSTNESS:.h5=.txt)
	mv $(ROBUSTNESS:.h5=.txt) $(PAGES)/ROBUSTNESS.md
	test '$(FIGURES)' = none || $(BUILD)/esgsim plot $(ROBUSTNESS) --over planning.error.cv --out $(FIGURES)

.PHONY: gallery
gallery: all ## draw one figure of each kind from short runs: plots/GALLERY.md
	sh plots/gallery.sh $(BUILD)/esgsim

.PHONY: site
site: deps-site ## build the pages as a static site with search: build/site/html
	@sh site/build.sh

COUNT     ?= 2000
SEED      ?= 1
WORLDS    := $(dir $(RESULTS))worlds.h5
.PHONY: worlds
worlds: all ## look for worlds in which ESG's published figures hold: COUNT draws, results/pages/WORLDS.md
	python3 results/worlds.py sweep $(COUNT) $(SEED) >$(BUILD)/worlds.json
	$(BUILD)/esgsim sweep $(BUILD)/worlds.json --jobs $(JOBS) --restart --out $(WORLDS)
	python3 results/worlds.py page $(COUNT) $(SEED) $(BUILD)/esgsim $(WORLDS) >$(WORLDS:.h5=.txt)
	mkdir -p $(PAGES) && mv $(WORLDS:.h5=.txt) $(PAGES)/WORLDS.md

FLIPS     := $(dir $(RESULTS))flips.h5
FLIPS_SVG := $(dir $(RESULTS))paper/flips.svg
.PHONY: flips
flips: all ## study which assumption flips which conclusion: sweep, results/pages/FLIPS.md, a heat map
	python3 results/flips.py sweep 4 >$(BUILD)/flips.json
	$(BUILD)/esgsim sweep $(BUILD)/flips.json --jobs $(JOBS) --restart --out $(FLIPS)
	mkdir -p $(dir $(FLIPS_SVG)) $(PAGES)
	python3 results/flips.py page $(BUILD)/esgsim $(FLIPS) $(if $(filter none,$(FIGURES)),,$(FLIPS_SVG)) >$(FLIPS:.h5=.txt)
	mv $(FLIPS:.h5=.txt) $(PAGES)/FLIPS.md

# The answers of an earlier run are kept: remove the file to ask anew.
EDGES     := $(dir $(RESULTS))headline.jsonl
EDGES_SVG := $(dir $(RESULTS))paper/headline-worlds.svg
# The sweeps of which README speaks beside those of `make reproduce`.
WIDER     := headline headline-scalers paper paper-mps paper-scarce
.PHONY: headline
headline: all ## run all that README's main result rests on, and check it: results/pages/HEADLINE.md, a figure. Takes about an hour of one core
	for sweep in $(WIDER); do $(BUILD)/esgsim sweep workloads/experiments/$$sweep.json --jobs $(JOBS) --resume --out $(dir $(RESULTS))$$sweep.h5 || exit; done
	python3 results/headline.py run $(BUILD)/esgsim $(EDGES) $(JOBS)
	mkdir -p $(dir $(EDGES_SVG)) $(PAGES)
	python3 results/headline.py page $(EDGES) $(EDGES_SVG:.svg=.csv) $(if $(filter none,$(FIGURES)),,$(EDGES_SVG)) >$(EDGES:.jsonl=-page.txt)
	mv $(EDGES:.jsonl=-page.txt) $(PAGES)/HEADLINE.md
	$(if $(filter none,$(FIGURES)),,$(BUILD)/esgsim plot $(LOADS) --only sustained --size page --out $(dir $(EDGES_SVG)))
	python3 results/sentences.py headline $(PAGES)/HEADLINE.md
	python3 results/sentences.py wider $(BUILD)/esgsim $(WIDER:%=$(dir $(RESULTS))%.h5)

SHARDS    ?= 8
.PHONY: slurm
slurm: all ## run SWEEP on a Slurm cluster as a job array of SHARDS tasks, into RESULTS
	ESGSIM=$(BUILD)/esgsim results/slurm/sweep.sh $(SWEEP) $(RESULTS) $(SHARDS)

.PHONY: bench
bench: all ## print the speed figures, beside other engines where those are installed
	$(BUILD)/esgsim bench
	@sh tests/bench/peers.sh $(BUILD)/esgsim $(BUILD)/bench

# ---- Tests and checks ------------------------------------------------------------------------

# A changed line to a verdict in seconds: see CONTRIBUTING.md.
.PHONY: dev hooks
dev: ## build without optimisation and run the suites that see what changed (ALL=1, SAN=1, TEST=NAME, CASE=PATTERN)
	@ALL='$(ALL)' TEST='$(TEST)' $(if $(CASE),ESGSIM_CASE='$(CASE)') JOBS=$(JOBS) MAKEFLAGS= sh tests/dev.sh \
	  $(if $(SAN),$(SAN_BUILD) $(SAN_FLAGS),$(BUILD)/dev BUILD=$(BUILD)/dev OPT=-O0 CFLAGS=-g1)

hooks: ## install a hook of git that formats and checks what is committed, in two seconds
	@install -D -m 755 tests/hook.sh "$$(git rev-parse --git-path hooks)/pre-commit"

.PHONY: plugins
plugins: $(PLUGINS)

.PHONY: suites
suites: $(BUILD)/esgsim $(BUILD)/schemas $(TESTS) $(REPLAYS) $(PLUGINS)

.PHONY: test
test: deps-test ## install, build, run all tests (AddressSanitizer, UBSan, valgrind)
	@$(MAKE) all $(PLUGINS) python $(BUILD)/tests/digest $(WHOLE_TESTS)
	@$(MAKE) $(SAN_FLAGS) suites
	@JOBS=$(JOBS) sh tests/run.sh $(BUILD) $(SAN_BUILD)

.PHONY: check
check: ## all tests, static analysis and formatting
	@status=0; $(MAKE) test || status=$$?; mv $(BUILD)/tests.summary $(BUILD)/suites.summary || exit; \
	$(MAKE) lint || status=$$?; cat $(BUILD)/suites.summary $(BUILD)/tests.summary | \
	  awk '{ passed += $$1; failed += $$3 } END { print passed " passed, " failed " failed" }'; exit $$status

# What CI leaves out where nothing of it has changed (tests/aside.txt), what takes minutes and tests no line
# of the simulator, and the README's figures: once a week.
WEEKLY   := packages page
.PHONY: check-all
check-all: deps-browser ## check with a deeper analysis, the whole of make reproduce, packages built, installed and run, pages in a browser (Chromium)
	@$(MAKE) reproduce
	@$(MAKE) check TIDY_NODES=30000
	@for suite in $(WEEKLY); do BUILD=$(BUILD) sh tests/$$suite.sh || exit; done

.PHONY: lint
lint: deps-lint ## static analysis and formatting alone
	@$(MAKE) lint-findings
	@SUITES=lint sh tests/run.sh $(BUILD) $(BUILD)

# What the analysers say goes to a file each, so that only what changed is looked at again;
# tests/lint.sh shows the findings and counts them.
#
# Nearly all of clang-tidy's time is the analysis of paths, whose limit is the number of nodes in a
# function's graph. What is not covered yet is visited first; later nodes repeat it with other
# values. make check-all, once a week, has three times as many, and takes twice as long. Paths of
# tests are not analysed: every one of their lines runs under the sanitizers.
TIDY_NODES ?= 10000
TIDY     := $(ALL_SRC:%.c=$(BUILD)/lint/%.tidy)
CPPCHECK := $(BUILD)/lint/cppcheck.log
FORMAT   := $(BUILD)/lint/clang-format.log
DEFINED  := -DESGSIM_VERSION='""' -DESGSIM_DATADIR='""' -DESGSIM_COMMIT='""' -DESGSIM_SOURCES='""'

.PHONY: lint-findings
lint-findings: $(TIDY) $(CPPCHECK) $(FORMAT) $(BUILD)/lint/shellcheck.log

$(BUILD)/lint/nodes: $(if $(shell echo '$(TIDY_NODES)' | cmp -s - $(BUILD)/lint/nodes || echo new),FORCE)
	@mkdir -p $(@D)
	@echo '$(TIDY_NODES)' >$@

TIDY_FLAGS = $(PREPROCESS) $(DEFINED)
$(BUILD)/lint/%.tidy: %.c .clang-tidy $(BUILD)/lint/nodes
	@mkdir -p $(@D)
	@echo clang-tidy $<
	@$(CC) $(TIDY_FLAGS) -MM -MP -MT $@ -MF $(@:.tidy=.d) $<
	@clang-tidy --quiet $(if $(filter tests/%,$<),--checks=-clang-analyzer-*) $< \
	  -- $(TIDY_FLAGS) $(filter-out -Werror,$(WARN)) \
	  -Xclang -analyzer-config -Xclang max-nodes=$(TIDY_NODES) >$@ 2>$@.err || \
	  cat $@.err >>$@; rm -f $@.err

$(CPPCHECK): $(ALL_SRC) $(ALL_HDR)
	@mkdir -p $(BUILD)/lint/cppcheck
	@echo 'cppcheck: all sources, a minute'
	@cppcheck --quiet -j $(JOBS) --cppcheck-build-dir=$(BUILD)/lint/cppcheck --std=c11 -I. \
	  -D_GNU_SOURCE $(DEFINED) --enable=warning,performance,portability --inline-suppr \
	  --error-exitcode=1 --suppress=missingIncludeSystem $(ALL_SRC) >$@ 2>&1 || \
	  echo 'cppcheck: findings above' >>$@

$(FORMAT): $(ALL_SRC) $(ALL_HDR) .clang-format
	@mkdir -p $(@D)
	@clang-format --dry-run -Werror $(ALL_SRC) $(ALL_HDR) >$@ 2>&1 || \
	  echo 'clang-format: run `make format`' >>$@

SHELL_SRC := .ci/run .ci/deps.sh .ci/deb.sh $(wildcard tests/*.sh plots/*.sh sim/cli/*.sh sim/cli/*.bash results/*.sh results/slurm/*.sh tests/bench/*.sh \
             traces/capture/*.sh)
$(BUILD)/lint/shellcheck.log: $(SHELL_SRC)
	@mkdir -p $(@D)
	@echo 'shellcheck: all scripts'
	@shellcheck -x $(SHELL_SRC) >$@ 2>&1 || echo 'shellcheck: findings above' >>$@

.PHONY: lines
lines: ## print the lines of C by room, beside the budgets of tests/budget
	@sh tests/lines.sh

.PHONY: format
format: ## lay out all sources as .clang-format says
	clang-format -i $(ALL_SRC) $(ALL_HDR)

FUZZ_SECONDS ?= 30
.PHONY: fuzz
fuzz: deps-fuzz ## fuzz the readers with libFuzzer, FUZZ_SECONDS each
	@$(MAKE) CC=clang BUILD=$(BUILD)/fuzz OPT='-O1 -fno-omit-frame-pointer' \
	  SANITIZE='-fsanitize=fuzzer-no-link,address,$(UNDEFINED) -fno-sanitize-recover=all' fuzzers
	@sh tests/fuzz.sh $(BUILD)/fuzz $(FUZZ_SECONDS)

.PHONY: fuzzers
fuzzers: $(FUZZERS)

# The suites against a shared library, of which each mutant has its own.
MUTANTS  ?= 256
MUTANTS_BUILD := $(BUILD)/mutants
.PHONY: mutants
mutants: deps-test ## change single tokens of the simulator and count which changes the suites notice
	@$(MAKE) BUILD=$(MUTANTS_BUILD) OPT=-O1 CFLAGS= SHARED=1 mutants-build
	@COMPILE='$(CC) $(PREPROCESS) -O1 $(PIC)' LIBRARIES='$(LDLIBS)' \
	  sh tests/mutants.sh $(MUTANTS_BUILD) $(MUTANTS) $(JOBS)

.PHONY: mutants-build
mutants-build: $(BUILD)/esgsim $(TESTS) $(PLUGINS) $(BUILD)/mutate
	@echo '$(BUILD)/sim/main.o $(CLI_OBJ) $(LIB_OBJ)' >$(BUILD)/objects

.PHONY: python
python: $(BUILD)/python/esgsim.so ## build what policies in Python need, the program as a library: build/python/esgsim.so (two minutes)

$(BUILD)/python/esgsim.so: $(BUILD)/esgsim.so
	@for file in $(HEADERS); do install -D -m 644 $$file $(@D)/include/$$file || exit 1; done
	@cp $< $@.new && mv -f $@.new $@

$(BUILD)/mutate: tests/mutants/mutate.c
	$(SAY) link $@
	$(Q)$(CC) $(STD) $(WARN) -O1 -o $@ $<

# ---- Manual page -----------------------------------------------------------------------------

$(BUILD)/esgsim.1: sim/cli/manual.sh $(BUILD)/esgsim
	$(SAY) manual $@
	$(Q)sh sim/cli/manual.sh $(BUILD)/esgsim >$@

.PHONY: man
man: $(BUILD)/esgsim.1 ## write the manual page from the --help texts: build/esgsim.1

# ---- Installation ----------------------------------------------------------------------------

DATA := REPRODUCING.md results/REALITY.md results/TRAININGS.md $(shell find workloads traces -type f \( -name '*.json' -o -name '*.csv' -o -name '*.gz' \
          -o -name '*.txt' -o -name '*.md' -o -name '*.sh' -o -name LICENSE \) 2>/dev/null) \
        $(wildcard plots/*.gp results/page/*.json results/page/page.* results/paper/*.json results/paper/headline-worlds.csv results/*.py results/reality/* results/python/esgsim*.* traces/capture/*.py traces/profiles/*.py)
DOCS := $(wildcard *.md */*.md workloads/*/*.md results/pages/*.md traces/capture/*.md LICENSE CITATION.cff sim/*.svg sim/examples/*.c results/paper/*.svg plots/gallery/* sched/pictures/*.png)

# A program that is not of these sources and this commit may be in use: it is left as it is, and what
# is installed is built elsewhere.
.PHONY: install install-files
install: ## install program, manual, completion, library, headers, data and documents under PREFIX (DESTDIR is put before it)
	@if test -e $(BUILD)/esgsim && ! $(MAKE) -q $(BUILD)/esgsim >/dev/null 2>&1; then \
	  echo 'install: $(BUILD)/esgsim is of other sources or another commit; building in $(BUILD)/install' >&2; \
	  $(MAKE) BUILD=$(BUILD)/install install-files; \
	else $(MAKE) install-files; fi

# The library's own data folder is the installed one.
$(BUILD)/installed/json_include.o: workloads/load/json_include.c FORCE
	@mkdir -p $(@D)
	$(Q)$(CC) $(PREPROCESS) $(WARN) -O2 $(CFLAGS) -DESGSIM_DATADIR='"$(DATADIR)"' -c $< -o $@

install-files: all man $(BUILD)/installed/json_include.o
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install -m 755 $(BUILD)/esgsim $(DESTDIR)$(PREFIX)/bin/esgsim
	install -m 644 $(BUILD)/libesgsim.a $(DESTDIR)$(PREFIX)/lib/libesgsim.a
	$(AR) r $(DESTDIR)$(PREFIX)/lib/libesgsim.a $(BUILD)/installed/json_include.o
	install -D -m 644 $(BUILD)/esgsim.1 $(DESTDIR)$(PREFIX)/share/man/man1/esgsim.1
	install -D -m 644 sim/cli/completion.bash \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions/esgsim
	install -D -m 644 sim/cli/completion.zsh $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_esgsim
	install -D -m 644 sim/cli/completion.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/esgsim.fish
	@for file in $(filter-out $(PRIVATE),$(HEADERS)) $(wildcard sim/*/*.def); do \
	  install -D -m 644 $$file $(DESTDIR)$(PREFIX)/include/esgsim/$$file || exit 1; done
	@for file in $(DATA); do \
	  install -D -m 644 $$file $(DESTDIR)$(DATADIR)/$$file || exit 1; done
	@for file in $(wildcard results/*.sh results/slurm/*.sh) results/python/esgsim_policy.py; do \
	  install -D -m 755 $$file $(DESTDIR)$(DATADIR)/$$file || exit 1; done
	@! test -e $(BUILD)/python/esgsim.so || { $(MAKE) python && install -m 755 $(BUILD)/python/esgsim.so $(DESTDIR)$(PREFIX)/lib/esgsim.so; }
	@for file in $(DOCS); do \
	  install -D -m 644 $$file $(DESTDIR)$(PREFIX)/share/doc/esgsim/$$file || exit 1; done
	@printf '%s\n' 'prefix=$${pcfiledir}/../..' '' 'Name: esgsim' \
	  'Description: Simulator of serverless DNN inference on shareable GPUs' \
	  'Version: $(VERSION)' 'Requires: gsl libcjson zlib nettle' \
	  'Cflags: -I$${prefix}/include/esgsim' 'Libs: -L$${prefix}/lib -lesgsim -lm -ldl' \
	  >$(DESTDIR)$(PREFIX)/lib/pkgconfig/esgsim.pc
	@echo 'installed under $(DESTDIR)$(PREFIX); data in $(DATADIR)'

# ---- Packages --------------------------------------------------------------------------------

ARCHIVE  := esgsim-$(VERSION).tar.gz
.PHONY: dist deb wheel
dist: ## pack the sources of HEAD: build/esgsim-VERSION.tar.gz, the same bytes from every clone, and its SHA-256
	@mkdir -p $(BUILD)
	git archive --format=tar --prefix=esgsim-$(VERSION)/ HEAD | gzip -9n >$(BUILD)/$(ARCHIVE)
	cd $(BUILD) && sha256sum $(ARCHIVE) | tee $(ARCHIVE).sha256

deb: ## make a Debian package: build/esgsim_VERSION_ARCH.deb
	rm -rf $(BUILD)/deb
	@$(MAKE) install PREFIX=/usr DESTDIR=$(BUILD)/deb >$(BUILD)/deb.log
	SOURCE_DATE_EPOCH=$(EPOCH) sh .ci/deb.sh $(BUILD)/deb $(VERSION) $(BUILD)/esgsim_$(VERSION)_$(shell dpkg --print-architecture).deb

wheel: ## make a Python wheel with the program, its data and the module: build/esgsim-VERSION-*.whl
	rm -rf $(BUILD)/wheel
	@$(MAKE) install PREFIX=/usr DESTDIR=$(BUILD)/wheel >$(BUILD)/wheel.log
	python3 .ci/wheel.py $(BUILD)/wheel/usr $(VERSION) $(BUILD)

.PHONY: release
release: ## check version, CHANGELOG.md, tree and packages, and set the tag of the version
	@BUILD=$(BUILD) sh .ci/release.sh

EPOCH     = $(or $(shell git log -1 --format=%ct 2>/dev/null),0)

.PHONY: clean
clean: ## remove everything built
	rm -rf $(BUILD)

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

-include $(shell find $(BUILD) -type f -name '*.d' -not -path '$(BUILD)/sanitized/*' -not -path '$(BUILD)/fuzz/*' \
           -not -path '$(BUILD)/python/*' \
           -not -path '$(BUILD)/install/*' 2>/dev/null)

# esgsim: build, test, reproduce. `make help` lists the targets.
CC       ?= gcc
PREFIX   ?= /usr/local
DESTDIR  ?=
BUILD    ?= build
PKGS      = gsl libcjson hdf5-serial zlib nettle
WARN      = -Wall -Wextra -Wpedantic -Wconversion -Werror
STD       = -std=c11 -D_GNU_SOURCE
OPT      ?= -O2 -flto=auto
SANITIZE ?=
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS   = $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lhdf5_hl
CFLAGS   ?= -g
ALL_CFLAGS = $(STD) $(WARN) $(OPT) $(SANITIZE) $(CFLAGS) -I. $(PKG_CFLAGS)
LDLIBS    = $(PKG_LIBS) -lm -ldl

LIB_SRC  := $(wildcard sim/*.c sched/*.c sched/*/*.c workloads/*.c traces/*.c)
LIB_SRC  := $(filter-out sim/main.c,$(LIB_SRC))
PROG_SRC := $(wildcard sim/main.c sim/cli/*.c results/*.c plots/*.c)
TEST_SRC := $(wildcard tests/test_*.c)
LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/%.o)
PROG_OBJ := $(PROG_SRC:%.c=$(BUILD)/%.o)
TESTS    := $(TEST_SRC:tests/%.c=$(BUILD)/tests/%)

.PHONY: all
all: $(BUILD)/esgsim

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/libesgsim.a: $(LIB_OBJ)
	rm -f $@ && gcc-ar rcs $@ $^

$(BUILD)/esgsim: $(PROG_OBJ) $(BUILD)/libesgsim.a
	$(CC) $(ALL_CFLAGS) -rdynamic -o $@ $(PROG_OBJ) -Wl,--whole-archive $(BUILD)/libesgsim.a -Wl,--no-whole-archive $(LDLIBS)

# A suite links everything but main; each closes with cmocka's own summary.
$(BUILD)/tests/%: tests/%.c $(BUILD)/libesgsim.a $(filter-out $(BUILD)/sim/main.o,$(PROG_OBJ))
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(filter-out $(BUILD)/sim/main.o,$(PROG_OBJ)) $(BUILD)/libesgsim.a $(LDLIBS) -lcmocka

.PHONY: clean
clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

#!/bin/sh
# What commands print is computed by the library: programs that link it alone print the same.
. tests/shell.sh

build=${BUILD:-build}
flags=$(pkg-config --cflags gsl libcjson zlib nettle)
libraries=$(pkg-config --libs gsl libcjson zlib nettle)
strict=workloads/experiments/strict-light.json

# program NAME: compiles the program on standard input.
program() {
    cat >"$folder/$1.c"
    # shellcheck disable=SC2086
    run "${CC:-gcc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror ${SANITIZE:-} -I. $flags \
        -o "$folder/$1" "$folder/$1.c" "$build/libesgsim.a" $libraries -lm -ldl
    expect "$1 compiles and links with the library alone" 0
}

# same NAME PATTERN ARGUMENT...: the program prints the command's lines that match, but for the blanks
# between columns.
same() {
    name=$1 pattern=$2
    shift 2
    "$build/esgsim" "$name" "$@" | grep -E "$pattern" | tr -s ' ' >"$folder/command"
    run "$folder/$name" "$@"
    if [ -s "$folder/command" ] && tr -s ' ' <"$folder/out" | cmp -s - "$folder/command"; then
        pass "a program prints what $name prints"
    else
        explain "a program prints what $name prints" "$(head -n 6 "$folder/command")"
    fi
}

program search <<'END'
#include <stdio.h>
#include <stdlib.h>

#include "sched/paths/decision.h"
#include "workloads/spec/experiment.h"

int main(int argc, char **argv) /* EXPERIMENT --application NAME --budget-ms X */
{
    struct error error = {0};
    struct decision decision;
    const struct decision_question question = {.k = 5,
                                               .queue_length = 32,
                                               .budget_ms = atof(argv[argc - 1]),
                                               .method = DECISION_BY_DAG,
                                               .time_blade = true,
                                               .cost_blade = true};
    struct arena *arena = arena_create();
    struct experiment *experiment = experiment_load(argv[1], NULL, 0, &error);
    const struct workload *workload = experiment_planned(experiment);
    const struct application *application = workload_find_application(workload, argv[3], &error);
    if (!decision_make(arena, workload, application, &question, &decision, &error))
        return fprintf(stderr, "%s\n", error.message), 1;
    for (size_t p = 0; p < decision.result.path_count; p++) {
        const struct search_path *path = &decision.result.paths[p];
        printf("%4zu %14.6g %12.3f ", p + 1, 1000 * path->cost_usd, sim_to_ms(path->time));
        for (size_t i = 0; i < decision.chain_length; i++) {
            const struct configuration *is = decision_configuration(&decision, path, i);
            printf(" %ux%ux%u", is->batch, is->vcpu, is->vgpu);
        }
        printf("\n");
    }
    arena_destroy(arena);
    experiment_free(experiment);
    return 0;
}
END
same search '^ +[0-9]+ +[0-9.]+ +[0-9.]+  [0-9x ]+$' "$strict" --application image-classification --budget-ms 400

program slo <<'END'
#include <stdio.h>

#include "sched/paths/division.h"

int main(int argc, char **argv) /* EXPERIMENT --application NAME */
{
    struct error error = {0};
    size_t group_size = 0;
    struct arena *arena = arena_create();
    struct experiment *experiment = experiment_load(argv[1], NULL, 0, &error);
    const struct workload *workload = experiment_planned(experiment);
    const struct application *application = workload_find_application(workload, argv[3], &error);
    const struct slo_plan *plan =
        slo_plan_divide(arena, experiment, application, &group_size, &error);
    if (argc < 4 || plan == NULL)
        return fprintf(stderr, "%s\n", error.message), 1;
    const double slo_ms = sim_to_ms(application->slo);
    printf("%s: SLO %.3f ms, groups of at most %zu\n", application->name, slo_ms, group_size);
    for (size_t s = 0; s < plan->stage_count; s++) {
        const struct slo_stage *is = &plan->stages[s];
        const char *behind = is->post_dominator == SIM_NONE
                                 ? "-"
                                 : application->stages[is->post_dominator].name;
        printf("%s %.5f %s %u %.5f %.3f %.3f\n", application->stages[s].name, is->anl, behind,
               is->group, is->quota, is->quota * slo_ms, is->deadline_fraction * slo_ms);
    }
    arena_destroy(arena);
    experiment_free(experiment);
    return 0;
}
END
same slo 'groups of at most|^[a-z-]+ +[0-9.]+ +[a-z-]+ +[0-9]' "$strict" --application expanded-image-classification

program list <<'END'
#include <stdio.h>
#include <string.h>

#include "sched/registry.h"

int main(int argc, char **argv) /* KIND */
{
    struct error error = {0};
    struct descriptions all = {.arena = arena_create()};
    const struct described_kind *kind = registered_kinds;
    for (size_t k = 0; k < DESCRIBED_KINDS && strcmp(kind->name, argv[argc - 1]) != 0; k++)
        kind = &described_kinds[k];
    if (!describe_kind(kind, &all, &error))
        return fprintf(stderr, "%s\n", error.message), 1;
    for (size_t i = 0; i < all.count; i++) {
        const struct description *is = &all.list[i];
        printf(is->serves != NULL ? "%-28s %s [%s]\n" : "%-28s %s\n", is->name, is->text, is->serves);
    }
    arena_destroy(all.arena);
    return 0;
}
END
same list '' profiles
same list '' models
same list '' policies
finish

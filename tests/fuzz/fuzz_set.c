/* What --set takes: a line KEY=VALUE each, on an experiment in which everything is given. */
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"
#include "tests/fuzz/input.h"

static const char base[] =
    "{\"name\":\"base\",\"cluster\":{\"invokers\":[{\"count\":2,\"vcpus\":4,\"memory_mb\":4096,"
    "\"gpus\":[{\"model\":\"A100\",\"sharing\":\"mps\",\"units\":7,\"memory_mb\":40960}]}]},"
    "\"functions\":{\"functions\":[{\"name\":\"f\",\"model\":\"f\",\"input_bytes\":1000}]},"
    "\"profile\":{\"device\":\"test\",\"evidence\":\"assumed\",\"source\":\"test\","
    "\"licence\":\"none\",\"unit\":7,\"functions\":{\"f\":{\"grid\":{\"batch\":[1,2],\"vcpu\":[1],"
    "\"vgpu\":[1,7]},\"latency_ms\":[[[80,20]],[[120,30]]],\"noise\":{\"cv\":0.1},"
    "\"cold_start_ms\":{\"mean\":300,\"cv\":0},\"gpu_memory_mb\":{\"weights\":100,"
    "\"per_item\":10},\"host_memory_mb\":100,\"bandwidth_share\":0.5}},"
    "\"interference\":{\"model\":\"constant\",\"constant\":0.5}},"
    "\"applications\":[{\"name\":\"a\",\"stages\":[{\"name\":\"s\",\"function\":\"f\"},"
    "{\"name\":\"t\",\"function\":\"f\",\"after\":[\"s\"]}]}],"
    "\"arrivals\":{\"process\":\"mmpp\",\"states\":[{\"rate_per_s\":5,\"mean_s\":1},"
    "{\"rate_per_s\":50,\"mean_s\":1}]},\"slo\":{\"factor\":1.2},"
    "\"policy\":{\"name\":\"esg\",\"params\":{\"k\":3}},"
    "\"platform\":{\"prewarm\":\"none\",\"transfer\":{\"latency_ms\":1,\"bandwidth_gbps\":10}},"
    "\"requests\":100,\"warmup_requests\":0,\"seed\":3}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = {0};
    struct cli_settings settings = {.count = 0};
    char *text = input_text(data, size);
    char *rest = text;
    bool taken = true;
    for (char *line = strsep(&rest, "\n"); taken && line != NULL; line = strsep(&rest, "\n"))
        taken = cli_settings_add_text(&settings, line, &error);
    struct experiment *experiment = NULL;
    if (taken)
        experiment = experiment_parse(base, "base", ".", settings.list, settings.count, &error);
    if (experiment == NULL)
        input_require_refusal(&error);
    experiment_free(experiment);
    free(text);
    return 0;
}

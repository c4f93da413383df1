/* Small worlds for tests of policies, and what holds in each of them under any policy. */
#ifndef ESGSIM_TESTS_WORLDS_H
#define ESGSIM_TESTS_WORLDS_H

#include "sim/engine/random.h"
#include "tests/fixture_simulation.h"
#include "tests/suite.h"

#define PROFILE                                                                                    \
    "\"profile\":{\"device\":\"test\",\"evidence\":\"assumed\",\"source\":\"test\","               \
    "\"licence\":\"none\",\"unit\":4,\"functions\":{"                                              \
    "\"f\":{\"grid\":{\"batch\":[1,2],\"vcpu\":[1,2],\"vgpu\":[1,2,4]},\"latency_ms\":"            \
    "[[[80,50,30],[70,40,20]],[[120,80,50],[100,70,40]]],\"noise\":{\"cv\":0.1},"                  \
    "\"cold_start_ms\":{\"mean\":300,\"cv\":0},\"gpu_memory_mb\":{\"weights\":100,"                \
    "\"per_item\":10},\"host_memory_mb\":100,\"bandwidth_share\":0.5},"                            \
    "\"g\":{\"grid\":{\"batch\":[1,2],\"vcpu\":[1,2],\"vgpu\":[1,2,4]},\"latency_ms\":"            \
    "[[[40,25,15],[35,20,10]],[[60,40,25],[50,35,20]]],\"noise\":{\"cv\":0.1},"                    \
    "\"cold_start_ms\":{\"mean\":200,\"cv\":0},\"gpu_memory_mb\":{\"weights\":100,"                \
    "\"per_item\":10},\"host_memory_mb\":100,\"bandwidth_share\":0.5}},"                           \
    "\"interference\":{\"model\":\"constant\",\"constant\":0.5}}"

/* A diamond and a chain on two small invokers, close to what they can serve. */
static const char diamond[] =
    "{\"name\":\"diamond\",\"cluster\":{\"invokers\":[{\"count\":2,\"vcpus\":6,"
    "\"memory_mb\":1200,\"gpus\":[{\"model\":\"test\",\"sharing\":\"mps\",\"units\":4,"
    "\"memory_mb\":1000}]}],\"price\":{\"vcpu_hour_usd\":3.6,\"vgpu_hour_usd\":36}},"
    "\"functions\":{\"functions\":[{\"name\":\"f\",\"model\":\"f\",\"input_bytes\":1000},"
    "{\"name\":\"g\",\"model\":\"g\",\"input_bytes\":1000}]}," PROFILE ","
    "\"applications\":[{\"name\":\"diamond\",\"stages\":["
    "{\"name\":\"a\",\"function\":\"f\",\"output_bytes\":1000},"
    "{\"name\":\"b\",\"function\":\"g\",\"after\":[\"a\"],\"output_bytes\":1000},"
    "{\"name\":\"c\",\"function\":\"g\",\"after\":[\"a\"],\"output_bytes\":1000},"
    "{\"name\":\"d\",\"function\":\"f\",\"after\":[\"b\",\"c\"]}]},"
    "{\"name\":\"chain\",\"stages\":[{\"name\":\"a\",\"function\":\"g\",\"output_bytes\":1000},"
    "{\"name\":\"b\",\"function\":\"f\",\"after\":[\"a\"]}]}],"
    "\"arrivals\":{\"process\":\"poisson\",\"rate_per_s\":40},\"slo\":{\"factor\":1.2},"
    "\"platform\":{\"prewarm\":\"none\"},\"requests\":800,\"warmup_requests\":0,\"seed\":3}";

enum { WORLD_BYTES = 8192, WORLD_REQUESTS = 400 };

/* Room for a world's JSON to the end of the suite. */
static inline char *world_blank(void)
{
    return arena_allocate(suite_arena(), WORLD_BYTES, 1);
}

/* Appends text to a world's JSON; it may have ' for ". */
static inline void world_add(char *json, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline void world_add(char *json, const char *format, ...)
{
    const size_t used = strlen(json);
    va_list args;
    va_start(args, format);
    const int written = vsnprintf(json + used, WORLD_BYTES - used, format, args);
    va_end(args);
    assert_true(written >= 0 && (size_t)written < WORLD_BYTES - used);
    json_requote(json + used);
}

/* A world that is to be changed. */
static inline char *world_copy(const char *json)
{
    char *copy = world_blank();
    world_add(copy, "%s", json);
    return copy;
}

/* Replaces every `from`, of which there is one at least; both texts may have ' for ". */
static inline void world_replace(char json[WORLD_BYTES], const char *from, const char *to)
{
    char out[WORLD_BYTES] = "", sought[WORLD_BYTES] = "";
    const char *rest = json;
    world_add(sought, "%s", from);
    const char *at = must(strstr(json, sought));
    for (; at != NULL; at = strstr(rest, sought)) {
        world_add(out, "%.*s%s", (int)(at - rest), rest, to);
        rest = at + strlen(sought);
    }
    world_add(out, "%s", rest);
    memcpy(json, out, WORLD_BYTES);
}

/* ---- A world from a few words ---------------------------------------------------------------- */

/* A function's measurements, the texts without the outermost brackets: batches "1,2", latencies by
 * batch, vCPUs and vGPUs "[[80,40,20]],[[160,80,40]]". */
struct world_function {
    const char *name, *batches, *vcpus, *vgpus, *latency_ms;
    double noise_cv, cold_start_ms, bandwidth_share;
};

/* What a test leaves out is 0, or what the comment says. Texts of JSON may have ' for ". */
struct world {
    const char *name;       /* "world" */
    unsigned invokers;      /* 1 */
    unsigned vcpus;         /* of each invoker: 8 */
    unsigned memory_mb;     /* 4000 */
    const char *model;      /* of its GPU: "test" */
    const char *sharing;    /* "mps" */
    unsigned units;         /* 4 */
    unsigned gpu_memory_mb; /* 4000 */
    struct world_function functions[2];
    double interference; /* the constant of the model */
    unsigned input_bytes, output_bytes;
    const char *applications;                 /* "two: a=f b=g(a) c=g(a,b); one: a=f" */
    double every_ms[2], rate_per_s;           /* intervals between the two, or a Poisson process */
    const char *trace;                        /* or the path of a trace */
    double slo_factor, slo_ms;                /* the one that is not 0 */
    const char *platform;                     /* members beside "prewarm" */
    const char *more;                         /* further members of the experiment */
    unsigned requests, warmup_requests, seed; /* the seed: 1 */
};

static inline void world_add_functions(char *json, const struct world *world)
{
    const struct world_function *functions = world->functions;
    const size_t count = functions[1].name == NULL ? 1 : 2;
    world_add(json, "'functions':{'functions':[");
    for (size_t i = 0; i < count; i++)
        world_add(json, "%s{'name':'%s','model':'%s','input_bytes':%u}", i == 0 ? "" : ",",
                  functions[i].name, functions[i].name, world->input_bytes);
    world_add(json,
              "]},'profile':{'device':'test','evidence':'assumed','source':'test',"
              "'licence':'none','unit':%u,'interference':{'model':'constant','constant':%g},"
              "'functions':{",
              world->units == 0 ? 4 : world->units, world->interference);
    for (size_t i = 0; i < count; i++)
        world_add(json,
                  "%s'%s':{'grid':{'batch':[%s],'vcpu':[%s],'vgpu':[%s]},'latency_ms':[%s],"
                  "'noise':{'cv':%g},'cold_start_ms':{'mean':%g,'cv':0},'gpu_memory_mb':"
                  "{'weights':100,'per_item':10},'host_memory_mb':100,'bandwidth_share':%g}",
                  i == 0 ? "" : ",", functions[i].name, functions[i].batches, functions[i].vcpus,
                  functions[i].vgpus, functions[i].latency_ms, functions[i].noise_cv,
                  functions[i].cold_start_ms, functions[i].bandwidth_share);
    world_add(json, "}}");
}

/* Applications end with ";", stages with a blank. */
static inline void world_add_applications(char *json, const struct world *world)
{
    char text[512], *list = NULL, *words = NULL;
    snprintf(text, sizeof text, "%s", world->applications);
    world_add(json, ",'applications':[");
    for (char *one = strtok_r(text, ";", &list); one != NULL; one = strtok_r(NULL, ";", &list)) {
        world_add(json, "%s{'name':'%s','stages':[", one == text ? "" : ",",
                  strtok_r(one, ": ", &words));
        const char *first = "";
        for (char *stage; (stage = strtok_r(NULL, ": ", &words)) != NULL; first = ",") {
            char *after = strchr(stage, '('), *parts = NULL;
            world_add(json, "%s{'name':'%c','function':'%.*s'", first, stage[0],
                      (int)strcspn(&stage[2], "("), &stage[2]);
            if (world->output_bytes > 0)
                world_add(json, ",'output_bytes':%u", world->output_bytes);
            for (char *one_of = after == NULL ? NULL : strtok_r(after, "(,)", &parts);
                 one_of != NULL; one_of = strtok_r(NULL, "(,)", &parts))
                world_add(json, "%s'%s'", one_of == after + 1 ? ",'after':[" : ",", one_of);
            world_add(json, "%s}", after == NULL ? "" : "]");
        }
        world_add(json, "]}");
    }
    world_add(json, "]");
}

static inline unsigned world_or(unsigned given, unsigned otherwise)
{
    return given > 0 ? given : otherwise;
}

/* The experiment of the world. */
static inline char *world_build(const struct world *world)
{
    char *json = world_blank();
    world_add(json,
              "{'name':'%s','cluster':{'invokers':[{'count':%u,'vcpus':%u,'memory_mb':%u,"
              "'gpus':[{'model':'%s','sharing':'%s','units':%u,'memory_mb':%u}]}],'price':"
              "{'vcpu_hour_usd':3.6,'vgpu_hour_usd':36}},",
              world->name == NULL ? "world" : world->name, world_or(world->invokers, 1),
              world_or(world->vcpus, 8), world_or(world->memory_mb, 4000),
              world->model == NULL ? "test" : world->model,
              world->sharing == NULL ? "mps" : world->sharing, world_or(world->units, 4),
              world_or(world->gpu_memory_mb, 4000));
    world_add_functions(json, world);
    world_add_applications(json, world);
    if (world->trace != NULL)
        world_add(json, ",'arrivals':{'process':'trace','file':'%s'}", world->trace);
    else if (world->rate_per_s > 0)
        world_add(json, ",'arrivals':{'process':'poisson','rate_per_s':%g}", world->rate_per_s);
    else
        world_add(json, ",'arrivals':{'process':'uniform','low_ms':%.10g,'high_ms':%.10g}",
                  world->every_ms[0], world->every_ms[1]);
    world_add(json, ",'slo':{'%s':%g}", world->slo_ms > 0 ? "ms" : "factor",
              world->slo_ms > 0 ? world->slo_ms : world->slo_factor);
    world_add(json, ",'platform':{'prewarm':'none'%s%s}", world->platform == NULL ? "" : ",",
              world->platform == NULL ? "" : world->platform);
    world_add(json, "%s%s", world->more == NULL ? "" : ",", world->more == NULL ? "" : world->more);
    world_add(json, ",'requests':%u,'warmup_requests':%u,'seed':%u}", world->requests,
              world->warmup_requests, world_or(world->seed, 1));
    return json;
}

/* A random latency surface over batches 1, 2, 4, vCPUs 1, 2 and vGPUs 1, 2, 4. */
static inline void world_function(char *json, struct random_stream *stream, const char *name,
                                  double noise_cv)
{
    static const double batch[] = {1, 2, 4};
    static const double vgpu[] = {1, 2, 4};
    const double base = 20 + 80 * gsl_rng_uniform(&stream->rng);
    const double power = 0.4 + 0.6 * gsl_rng_uniform(&stream->rng);
    world_add(json, "'%s':{'grid':{'batch':[1,2,4],'vcpu':[1,2],'vgpu':[1,2,4]},", name);
    world_add(json, "'latency_ms':[");
    for (size_t b = 0; b < 3; b++)
        for (size_t c = 0; c < 2; c++)
            for (size_t g = 0; g < 3; g++)
                world_add(json, "%s%s%.3f%s%s", g == 0 && c == 0 ? (b > 0 ? ",[" : "[") : "",
                          g == 0 ? (c > 0 ? ",[" : "[") : ",",
                          base * pow(batch[b], power) / (1 + 0.15 * (double)c) / pow(vgpu[g], 0.6) *
                              (0.95 + 0.1 * gsl_rng_uniform(&stream->rng)),
                          g == 2 ? "]" : "", g == 2 && c == 1 ? "]" : "");
    world_add(json,
              "],'noise':{'cv':%g},'cold_start_ms':{'mean':%.0f,'cv':0},"
              "'gpu_memory_mb':{'weights':100,'per_item':10},'host_memory_mb':100,"
              "'bandwidth_share':0.4}",
              noise_cv, 50 + 250 * gsl_rng_uniform(&stream->rng));
}

/* Random functions, invokers, SLOs and load; a diamond, a chain and a single stage. WORLD_REQUESTS
 * requests. * Without noise and interference every execution takes its nominal time. */
static inline char *world_random(uint64_t number, bool nominal)
{
    RANDOM_STREAM(stream, 2026, RANDOM_TEST, number, 7);
    gsl_rng *rng = &stream.rng;
    char *json = world_blank();
    world_add(json,
              "{'name':'random-%u','cluster':{'invokers':[{'count':%lu,'vcpus':%lu,"
              "'memory_mb':%lu,'gpus':[{'model':'test','sharing':'mps','units':4,"
              "'memory_mb':1000}]}],'price':{'vcpu_hour_usd':3.6,'vgpu_hour_usd':36}},"
              "'functions':{'functions':[{'name':'f','model':'f','input_bytes':1000},"
              "{'name':'g','model':'g','input_bytes':1000}]},'profile':{'device':"
              "'test','evidence':'assumed','source':'test','licence':'none',"
              "'unit':4,'functions':{",
              (unsigned)number, 1 + gsl_rng_uniform_int(rng, 5), 3 + gsl_rng_uniform_int(rng, 5),
              300 + 100 * gsl_rng_uniform_int(rng, 8));
    world_function(json, &stream, "f", nominal ? 0 : 0.1);
    world_add(json, ",");
    world_function(json, &stream, "g", nominal ? 0 : 0.1);
    world_add(json, "},'interference':{'model':'constant','constant':0.5}}");
    world_add_applications(json,
                           &(struct world){.applications = "diamond: a=f b=g(a) c=g(a) d=f(b,c);"
                                                           "chain: a=g b=f(a); single: a=f"});
    world_add(json,
              ",'arrivals':{'process':'poisson','rate_per_s':%.1f},'slo':{'factor':%.2f},"
              "'platform':{'prewarm':'none','interference':%s,'initial':{'f':%lu}},"
              "'requests':%d,'warmup_requests':0,'seed':%u}",
              5 + 45 * gsl_rng_uniform(rng), 0.7 + 1.5 * gsl_rng_uniform(rng),
              nominal ? "false" : "true", gsl_rng_uniform_int(rng, 4), WORLD_REQUESTS,
              (unsigned)number + 1);
    return json;
}

/* One invoker for everything, of the random world's kind. */
static inline char *world_scarce(uint64_t number)
{
    char *json = world_random(number, true);
    char *count = must(strstr(json, "\"count\":"));
    count[strlen("\"count\":")] = '1';
    return json;
}

/* GPUs that do not share by MPS: held whole, or in slices. */
static inline void world_exclusive(char json[WORLD_BYTES])
{
    world_replace(json, "'mps'", "'exclusive'");
}

static inline void world_sliced(char json[WORLD_BYTES])
{
    world_replace(json, "'model':'test','sharing':'mps'", "'model':'A30','sharing':'mig'");
}

/* Every request is in the record once, and of each either all jobs ran or it was given up. */
static inline void world_check_conserved(const struct log *log,
                                         const struct simulation_result *result, uint64_t requests)
{
    static const uint64_t stages[] = {4, 2, 1};
    uint64_t jobs = 0;
    uint64_t least = 0;
    uint64_t most = 0;
    uint64_t dropped = 0;
    assert_int_equal(log->request_count, requests);
    for (size_t i = 0; i < log->batch_count; i++)
        jobs += log->batches[i].jobs;
    for (size_t i = 0; i < log->request_count; i++) {
        const struct request_row *request = &log->requests[i];
        assert_int_equal(request->request, i);
        dropped += request->dropped;
        most += stages[request->application] - request->dropped;
        least += request->dropped ? 0 : stages[request->application];
    }
    assert_true(jobs >= least && jobs <= most);
    assert_int_equal(result->overall.dropped, dropped);
}

/* No batch is empty or larger than its configuration. */
static inline void world_check_batches(const struct log *log)
{
    for (size_t i = 0; i < log->batch_count; i++)
        assert_in_range(log->batches[i].jobs, 1, log->batches[i].configured_batch);
}

/* The platform ends a run in which a rule is broken, a resource over-committed or nothing moves.
 * The log may be NULL; `dropped` receives how many requests were given up. */
static inline void world_serve(const char *json, const struct policy *policy, const char *key,
                               double number, struct log *log, uint64_t *dropped)
{
    struct log *own = log != NULL ? log : malloc(sizeof *own);
    struct simulation_result result = {0};
    assert_non_null(own);
    run_well_with(json, policy, key, number, own, &result);
    world_check_conserved(own, &result, WORLD_REQUESTS);
    world_check_batches(own);
    *dropped = result.overall.dropped;
    simulation_result_clear(&result);
    if (log == NULL)
        free(own);
}

/* For policies that give up nothing. */
static inline void world_serve_all(const char *json, const struct policy *policy, const char *key,
                                   double number, struct log *log)
{
    uint64_t dropped = 0;
    world_serve(json, policy, key, number, log, &dropped);
    assert_int_equal(dropped, 0);
}

/* A setting other than the default. */
struct world_case {
    const char *key; /* NULL: none */
    double number;
};

/* Every case in random worlds 0..worlds - 1, twice each, to the same rows. */
static inline void worlds_check(const struct policy *policy, const struct world_case *cases,
                                size_t count, uint64_t worlds)
{
    struct log *logs = must(malloc(2 * sizeof *logs));
    char *json;
    uint64_t dropped[2];
    assert_non_null(policy);
    for (size_t c = 0; c < count; c++)
        for (uint64_t world = 0; world < worlds; world++) {
            json = world_random(world, world % 2 == 1);
            for (int i = 0; i < 2; i++)
                world_serve(json, policy, cases[c].key, cases[c].number, &logs[i], &dropped[i]);
            assert_int_equal(dropped[0], dropped[1]);
            assert_same_rows(&logs[0], &logs[1]);
        }
    free(logs);
}

#endif

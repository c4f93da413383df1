#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_rng.h>

#include "traces/networks/graph.h"
#include "traces/json/json.h"
#include "workloads/experiment.h"

static const char folder[] = "traces/networks";

static struct graph *load(const char *name)
{
    char path[256];
    struct error error = {0};
    (void)snprintf(path, sizeof path, "%s/%s.json", folder, name);
    struct graph *graph = graph_load(path, &error);
    if (graph == NULL) {
        fail_msg("%s", error.message);
        abort(); /* not reached: tells the analyser so */
    }
    return graph;
}

static struct graph *parse(const char *text)
{
    struct error error = {0};
    struct graph *graph = graph_parse(text, "test", &error);
    if (graph == NULL) {
        fail_msg("%s", error.message);
        abort(); /* not reached: tells the analyser so */
    }
    return graph;
}

static const struct graph_node *find(const struct graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (strcmp(graph->nodes[i].name, name) == 0)
            return &graph->nodes[i];
    fail_msg("%s has no layer %s", graph->name, name);
    return NULL;
}

static void assert_shape(const struct graph_node *node, const char *wanted)
{
    char text[64];
    assert_string_equal(graph_shape_text(&node->shape, text, sizeof text), wanted);
}

static void assert_within_percent(double value, double wanted, double percent, const char *what)
{
    if (!(fabs(value - wanted) <= wanted * percent / 100))
        fail_msg("%s: %.6g is not within %g %% of the published %.6g", what, value, percent,
                 wanted);
}

/* ---- Published counts ------------------------------------------------------------------------ */

/* What others counted of the same networks. `gmacs` at the network's own input unless `side` is
 * given; NAN where nobody publishes it.
 *
 * torchvision: num_params and _ops (GFLOPS, which count a multiply-accumulate as one) of its model
 *   pages. DeepLabV3: COCO_WITH_VOC_LABELS_V1, with auxiliary head, at 520.
 * U2-Net: 176.3 MB of FP32 in the paper's abstract; 44,009,869 in the model tables of BiRefNet
 *   users; 58.8 G in Liu et al., Intelligence & Robotics 2024, table 2, which counts the norms too.
 * BERT-base: 109 M and 22.5 G operations at sequence 128, two a multiply-accumulate (Sun et al.,
 *   MobileBERT, ACL 2020, table 4); 109.48 M is the count of the uncased checkpoint.
 * DeblurGAN's generator is CycleGAN's of 9 blocks: 11,378,179 as its own code prints; its MACs are
 *   tested apart, below.
 * MiDaS v2.1: 207.25144 GFLOPs, two a multiply-accumulate, in Open Model Zoo's page of midasnet;
 *   its 104.081 M leave out the unit that is never run and the norms, which are folded: tested
 *   apart. 105.36 M is the count of the project's checkpoint.
 * SRGAN's generator: 1.5 M; the MACs of its variant without norms are tested apart. */
static const struct published {
    const char *name;
    double parameters;
    double gmacs;
    double percent; /* how near the parameters must be: 0 where the source has all digits */
} published[] = {
    {"resnet50", 25557032, 4.089, 0},
    {"resnet152", 60192808, 11.514, 0},
    {"vgg19", 143667240, 19.632, 0},
    {"mobilenetv2", 3504872, 0.301, 0},
    {"deeplabv3_resnet50", 42004074, 178.722, 0},
    {"u2net", 44009869, 58.8, 0},
    {"bert_base", 109.48e6, 22.5 / 2, 0.01},
    {"deblurgan", 11378179, NAN, 0},
    {"midas_v21", 105.36e6, 207.25144 / 2, 0.01},
    {"srgan", 1549462, NAN, 0},
};
enum { PUBLISHED = sizeof published / sizeof published[0] };

static void parameters_and_work_are_within_one_percent_of_the_published(void **state)
{
    (void)state;
    for (size_t i = 0; i < PUBLISHED; i++) {
        const struct published *wanted = &published[i];
        struct graph *graph = load(wanted->name);
        assert_within_percent((double)graph->parameters, wanted->parameters, wanted->percent,
                              wanted->name);
        if (!isnan(wanted->gmacs))
            assert_within_percent((double)graph->macs / 1e9, wanted->gmacs, 1, wanted->name);
        graph_free(graph);
    }
}

static void every_network_that_ships_is_compared_with_a_published_count(void **state)
{
    (void)state;
    size_t count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory))
        count += strstr(entry->d_name, ".json") != NULL;
    (void)closedir(directory);
    assert_int_equal(count, PUBLISHED);
}

/* U2-Net's abstract: 176.3 MB, which is its file of FP32 parameters and running statistics. */
static void weights_take_the_bytes_that_the_paper_of_u2net_states(void **state)
{
    (void)state;
    struct graph *graph = load("u2net");
    assert_within_percent((double)graph_weight_bytes(graph, 4) / 1e6, 176.3, 0.2, "u2net");
    assert_int_equal(graph_weight_bytes(graph, 2) * 2, graph_weight_bytes(graph, 4));
    graph_free(graph);
}

/* BERT's layers alone: 12 of 7,087,872 parameters, 85.05 M (Devlin et al., appendix A.2's sizes).
 */
static void the_layers_of_bert_have_85_million_parameters(void **state)
{
    (void)state;
    struct graph *graph = load("bert_base");
    int64_t layers = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        if (strncmp(graph->nodes[i].name, "sequence.", 9) == 0)
            layers += graph->nodes[i].parameters;
    assert_int_equal(layers, 85054464);
    graph_free(graph);
}

/* GAN Compression (Li et al., CVPR 2020, figure 1): 56.8 GMACs for this generator at 256x256. The
 * counter used there takes a transposed convolution at its output's size, stride squared times the
 * work that is done; ours counts the work. */
static void deblurgan_has_the_work_that_gan_compression_states_of_this_generator(void **state)
{
    (void)state;
    struct graph *graph = load("deblurgan");
    double macs = (double)graph->macs;
    size_t transposed = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        if (node->kind != GRAPH_CONV_TRANSPOSE)
            continue;
        macs += (double)node->macs *
                (double)(node->attributes.stride[0] * node->attributes.stride[1] - 1);
        transposed++;
    }
    assert_int_equal(transposed, 2);
    assert_within_percent(macs / 1e9, 56.8, 0.1, "deblurgan");
    graph_free(graph);
}

/* Open Model Zoo's midasnet: 104.081 M parameters with norms folded and what is never run dropped.
 */
static void midas_without_norms_and_unused_unit_has_the_parameters_of_open_model_zoo(void **state)
{
    (void)state;
    struct graph *graph = load("midas_v21");
    int64_t parameters = graph->parameters - graph->unused_parameters;
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].kind == GRAPH_BATCH_NORM)
            parameters -= graph->nodes[i].parameters / 2; /* a shift remains as a bias */
    assert_within_percent((double)parameters / 1e6, 104.081, 0.01, "midas_v21");
    graph_free(graph);
}

/* The variant of SRResNet that later work compares with: no norms, 3x3 ends, an extra convolution
 * at full size; 1,518 K and 146.0 GMACs for a 1280x720 output (Ahn et al., CARN, ECCV 2018, and the
 * tables since). */
static void srresnet_as_super_resolution_tables_have_it_has_their_counts(void **state)
{
    (void)state;
    struct graph *graph = parse(
        "{\"network\": \"msrresnet\", \"inputs\": [{\"name\": \"x\", \"shape\": [3, 180, 320]}],"
        " \"blocks\": {"
        "  \"residual\": {\"layers\": ["
        "   {\"op\": \"conv\", \"channels\": 64, \"kernel\": 3, \"pad\": 1}, {\"op\": \"relu\"},"
        "   {\"op\": \"conv\", \"channels\": 64, \"kernel\": 3, \"pad\": 1, \"name\": \"e\"},"
        "   {\"op\": \"add\", \"from\": [\"e\", \"in\"]}]},"
        "  \"double\": {\"layers\": ["
        "   {\"op\": \"conv\", \"channels\": 256, \"kernel\": 3, \"pad\": 1},"
        "   {\"op\": \"pixel_shuffle\", \"factor\": 2}, {\"op\": \"relu\"}]}},"
        " \"layers\": ["
        "  {\"op\": \"conv\", \"channels\": 64, \"kernel\": 3, \"pad\": 1},"
        "  {\"block\": \"residual\", \"repeat\": 16}, {\"block\": \"double\", \"repeat\": 2},"
        "  {\"op\": \"conv\", \"channels\": 64, \"kernel\": 3, \"pad\": 1},"
        "  {\"op\": \"conv\", \"channels\": 3, \"kernel\": 3, \"pad\": 1}]}");
    assert_within_percent((double)graph->parameters, 1518e3, 0.1, "parameters");
    assert_within_percent((double)graph->macs / 1e9, 146.0, 0.1, "GMACs");
    assert_shape(&graph->nodes[graph->node_count - 1], "3x720x1280");
    graph_free(graph);
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

static void outputs_have_the_sizes_that_the_networks_are_known_for(void **state)
{
    (void)state;
    static const struct {
        const char *network, *layer, *shape;
    } known[] = {
        {"resnet50", "classes", "1000"},
        {"deeplabv3_resnet50", "out", "21x520x520"},
        {"deeplabv3_resnet50", "scores", "21x65x65"}, /* output stride 8 */
        {"srgan", "enlarged", "3x384x384"},
        {"deblurgan", "sharp", "3x256x256"},
        {"u2net", "map0", "1x320x320"},
        {"u2net", "map6", "1x320x320"},
        {"midas_v21", "depth", "1x384x384"},
        {"mobilenetv2", "classes", "1000"},
        {"vgg19", "classes", "1000"},
        {"bert_base", "pooled", "768"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct graph *graph = load(known[i].network);
        assert_shape(find(graph, known[i].layer), known[i].shape);
        graph_free(graph);
    }
    /* He et al., table 1: the last stage ends at 7x7. */
    struct graph *graph = load("resnet50");
    const struct graph_node *pool = NULL;
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].kind == GRAPH_GLOBAL_POOL)
            pool = &graph->nodes[i];
    assert_non_null(pool);
    assert_shape(&graph->nodes[pool->inputs[0]], "2048x7x7");
    graph_free(graph);
}

/* One layer on an input of 3 x height x width gives this; sizes computed by hand, or what PyTorch's
 * documentation of the layer states. */
static void layers_give_the_shapes_computed_by_hand(void **state)
{
    (void)state;
    static const struct {
        int height, width;
        const char *layer, *shape;
    } cases[] = {
        {224, 224, "\"op\": \"conv\", \"channels\": 64, \"kernel\": 7, \"stride\": 2, \"pad\": 3",
         "64x112x112"},
        {10, 12, "\"op\": \"conv\", \"channels\": 6, \"kernel\": [1, 3], \"groups\": 3", "6x10x10"},
        {65, 65, "\"op\": \"conv\", \"channels\": 2, \"kernel\": 3, \"pad\": 12, \"dilation\": 12",
         "2x65x65"},
        {12, 12,
         "\"op\": \"conv_transpose\", \"channels\": 5, \"kernel\": 3, \"stride\": 2, \"pad\": 1",
         "5x23x23"},
        {12, 12,
         "\"op\": \"conv_transpose\", \"channels\": 5, \"kernel\": 3, \"stride\": 2, \"pad\": 1, "
         "\"output_pad\": 1",
         "5x24x24"},
        {7, 7, "\"op\": \"max_pool\", \"kernel\": 2", "3x3x3"},
        {7, 7, "\"op\": \"max_pool\", \"kernel\": 2, \"ceil\": true", "3x4x4"},
        {5, 5, "\"op\": \"max_pool\", \"kernel\": 3, \"stride\": 2, \"pad\": 1, \"ceil\": true",
         "3x3x3"},
        /* The window that would start in the far padding is left out. */
        {4, 4, "\"op\": \"avg_pool\", \"kernel\": 2, \"stride\": 2, \"pad\": 1, \"ceil\": true",
         "3x3x3"},
        {9, 5, "\"op\": \"global_pool\"", "3x1x1"},
        {9, 5, "\"op\": \"flatten\"", "135"},
        {9, 5, "\"op\": \"reflect_pad\", \"pad\": [1, 3]", "3x11x11"},
        {9, 5, "\"op\": \"upsample\", \"mode\": \"nearest\", \"size\": [4, 20]", "3x4x20"},
        {9, 5, "\"op\": \"upsample\", \"mode\": \"bilinear\", \"factor\": 3", "3x27x15"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "{\"network\": \"n\", \"inputs\": [{\"name\": \"x\", \"shape\": [3, %d, "
                       "%d]}], \"layers\": [{%s}]}",
                       cases[i].height, cases[i].width, cases[i].layer);
        struct graph *graph = parse(text);
        assert_shape(&graph->nodes[1], cases[i].shape);
        graph_free(graph);
    }
}

/* 2 images of 4x6x6 through 3x3, 8 channels, 2 groups: 8 * 6*6 outputs of 2*9 products each. */
static void a_small_graph_counts_as_by_hand(void **state)
{
    (void)state;
    struct error error = {0};
    struct graph *graph =
        parse("{\"network\": \"n\", \"inputs\": [{\"name\": \"x\", \"shape\": [4, 6, 6]}],"
              " \"layers\": ["
              "  {\"op\": \"conv\", \"channels\": 8, \"kernel\": 3, \"pad\": 1, \"groups\": 2},"
              "  {\"op\": \"batch_norm\"}, {\"op\": \"relu\"},"
              "  {\"op\": \"conv_transpose\", \"channels\": 2, \"kernel\": 2, \"stride\": 2,"
              "   \"bias\": false},"
              "  {\"op\": \"global_pool\"}, {\"op\": \"flatten\"},"
              "  {\"op\": \"linear\", \"channels\": 5}]}");
    assert_int_equal(graph->nodes[1].macs, 8 * 36 * 2 * 9);
    assert_int_equal(graph->nodes[1].parameters, 8 * 2 * 9 + 8);
    assert_int_equal(graph->nodes[2].parameters, 16);
    assert_int_equal(graph->nodes[2].buffers, 16);
    assert_int_equal(graph->nodes[4].macs, 8 * 36 * 2 * 4);
    assert_int_equal(graph->nodes[4].parameters, 8 * 2 * 4);
    assert_int_equal(graph->nodes[7].macs, 2 * 5);
    assert_int_equal(graph->parameters, 152 + 16 + 64 + 15);
    assert_int_equal(graph->macs, 5184 + 2304 + 10);
    assert_true(graph_resize(graph, 2, 3, 3, &error));
    assert_int_equal(graph->macs, 2 * (5184 / 4 + 2304 / 4 + 10));
    graph_free(graph);
}

/* Attention over 6 tokens of 8 features: two products of 6*6*8, scores of 2 heads. */
static void an_attention_counts_its_two_products_and_keeps_its_scores(void **state)
{
    (void)state;
    struct graph *graph = parse(
        "{\"network\": \"n\", \"inputs\": [{\"name\": \"x\", \"shape\": [6, 8]}], \"layers\": ["
        " {\"op\": \"attention\", \"heads\": 2, \"from\": [\"x\", \"x\", \"x\"], \"name\": \"a\"},"
        " {\"op\": \"matmul\", \"transpose\": true, \"from\": [\"a\", \"x\"]}]}");
    assert_int_equal(find(graph, "a")->macs, 2 * 6 * 6 * 8);
    assert_int_equal(find(graph, "a")->scratch_elements, 2 * 6 * 6);
    assert_shape(&graph->nodes[2], "6x6");
    assert_int_equal(graph->nodes[2].macs, 6 * 6 * 8);
    graph_free(graph);
}

/* ---- Expansion ------------------------------------------------------------------------------- */

static void blocks_expand_to_the_nodes_that_their_layers_would_be(void **state)
{
    (void)state;
    struct graph *blocks = parse(
        "{\"network\": \"n\", \"inputs\": [{\"name\": \"x\", \"shape\": [4, 9, 9]}],"
        " \"blocks\": {\"unit\": {\"parameters\": {\"c\": null, \"k\": 3}, \"layers\": ["
        "  {\"op\": \"conv\", \"channels\": \"$c*2\", \"kernel\": [\"$k\", 1]},"
        "  {\"op\": \"relu\", \"name\": \"end\"}]}},"
        " \"layers\": [{\"block\": \"unit\", \"with\": {\"c\": 5}, \"repeat\": 2, \"name\": \"u\"},"
        "              {\"op\": \"tanh\"}]}");
    struct graph *flat = parse(
        "{\"network\": \"n\", \"inputs\": [{\"name\": \"x\", \"shape\": [4, 9, 9]}], \"layers\": ["
        " {\"op\": \"conv\", \"channels\": 10, \"kernel\": [3, 1]}, {\"op\": \"relu\"},"
        " {\"op\": \"conv\", \"channels\": 10, \"kernel\": [3, 1]}, {\"op\": \"relu\"},"
        " {\"op\": \"tanh\"}]}");
    assert_int_equal(blocks->node_count, flat->node_count);
    for (size_t i = 0; i < flat->node_count; i++) {
        assert_int_equal(blocks->nodes[i].kind, flat->nodes[i].kind);
        assert_memory_equal(&blocks->nodes[i].shape, &flat->nodes[i].shape,
                            sizeof flat->nodes[i].shape);
        assert_int_equal(blocks->nodes[i].macs, flat->nodes[i].macs);
        assert_int_equal(blocks->nodes[i].last_use, flat->nodes[i].last_use);
    }
    assert_string_equal(blocks->nodes[2].name, "u.0.end");
    assert_string_equal(blocks->nodes[4].name, "u.1.end");
    assert_string_equal(blocks->nodes[4].place, "blocks.unit.layers[1]");
    graph_free(blocks);
    graph_free(flat);
}

static void nodes_are_in_topological_order_and_every_one_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < PUBLISHED; i++) {
        struct graph *graph = load(published[i].name);
        for (size_t n = 0; n < graph->node_count; n++) {
            const struct graph_node *node = &graph->nodes[n];
            for (size_t k = 0; k < node->input_count; k++) {
                assert_true(node->inputs[k] < n);
                assert_true(graph->nodes[node->inputs[k]].last_use >= n);
            }
            assert_true(node->last_use > n);
            assert_true((node->kind == GRAPH_INPUT) == (node->input_count == 0));
        }
        graph_free(graph);
    }
}

/* ---- Batch and memory ------------------------------------------------------------------------ */

static void work_is_proportional_to_the_batch_and_weights_do_not_depend_on_it(void **state)
{
    (void)state;
    struct error error = {0};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    for (size_t i = 0; i < PUBLISHED; i++) {
        struct graph *graph = load(published[i].name);
        const int64_t macs = graph->macs;
        const int64_t parameters = graph->parameters;
        for (int round = 0; round < 5; round++) {
            const int64_t batch = 1 + (int64_t)gsl_rng_uniform_int(rng, 64);
            assert_true(graph_resize(graph, batch, 0, 0, &error));
            assert_int_equal(graph->macs, batch * macs);
            assert_int_equal(graph->parameters, parameters);
            assert_int_equal(graph->batch, batch);
        }
        graph_free(graph);
    }
    gsl_rng_free(rng);
}

static void fully_convolutional_work_is_proportional_to_the_area(void **state)
{
    (void)state;
    struct error error = {0};
    static const char *const names[] = {"srgan", "deblurgan", "u2net"};
    for (size_t i = 0; i < 3; i++) {
        struct graph *graph = load(names[i]);
        assert_true(graph_resize(graph, 1, 256, 256, &error));
        const int64_t macs = graph->macs;
        assert_true(graph_resize(graph, 1, 512, 256, &error));
        assert_int_equal(graph->macs, 2 * macs);
        graph_free(graph);
    }
}

static void a_size_that_does_not_fit_leaves_the_graph_as_it_was(void **state)
{
    (void)state;
    struct error error = {0};
    struct graph *graph = load("vgg19");
    const int64_t macs = graph->macs;
    assert_false(graph_resize(graph, 3, 16, 16, &error)); /* five halvings leave nothing */
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_non_null(strstr(error.message, "traces/networks/vgg19.json: layers["));
    assert_int_equal(graph->batch, 1);
    assert_int_equal(graph->macs, macs);
    assert_shape(&graph->nodes[0], "3x224x224");
    assert_false(graph_resize(graph, 0, 0, 0, &error));
    graph_free(graph);
}

/* Bytes of tensors alive at once, recomputed for each node from last uses alone. */
static size_t live_bytes(const struct graph *graph, size_t at, size_t element_bytes)
{
    size_t bytes = (size_t)graph->nodes[at].scratch_elements * element_bytes;
    for (size_t i = 0; i <= at; i++) {
        const bool counted = i == at || graph->nodes[i].last_use > at ||
                             (graph->nodes[i].last_use == at && !graph_runs_in_place(graph, at)) ||
                             (graph->nodes[i].last_use == at && graph->nodes[at].inputs[0] != i);
        if (counted)
            bytes += (size_t)graph_elements(&graph->nodes[i].shape) *
                     (graph->nodes[i].tokens ? 4 : element_bytes);
    }
    return bytes;
}

static void the_peak_of_memory_is_that_of_counting_tensors_alive_at_each_layer(void **state)
{
    (void)state;
    struct error error = {0};
    for (size_t i = 0; i < PUBLISHED; i++) {
        struct graph *graph = load(published[i].name);
        struct graph_arena arena;
        size_t peak = 0;
        for (size_t n = 0; n < graph->node_count; n++)
            peak = live_bytes(graph, n, 4) > peak ? live_bytes(graph, n, 4) : peak;
        assert_true(graph_arena_plan(graph, 4, 1, &arena, &error));
        assert_int_equal(arena.peak_live_bytes, peak);
        assert_true(arena.bytes >= peak);
        graph_arena_free(&arena);
        graph_free(graph);
    }
}

static bool overlap(size_t a, size_t a_bytes, size_t b, size_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* An executor that follows the plan never writes over a tensor that is still to be read. */
static void tensors_alive_together_do_not_overlap_unless_one_replaces_the_other(void **state)
{
    (void)state;
    struct error error = {0};
    for (size_t g = 0; g < PUBLISHED; g++) {
        struct graph *graph = load(published[g].name);
        struct graph_arena arena;
        assert_true(graph_resize(graph, 3, 0, 0, &error));
        assert_true(graph_arena_plan(graph, 2, 256, &arena, &error));
        for (size_t n = 0; n < graph->node_count; n++) {
            const struct graph_node *node = &graph->nodes[n];
            const size_t bytes = (size_t)graph_elements(&node->shape) * (node->tokens ? 4 : 2);
            assert_int_equal(arena.offsets[n] % 256, 0);
            assert_true(arena.offsets[n] + bytes <= arena.bytes);
            for (size_t e = 0; e < n; e++) {
                const struct graph_node *earlier = &graph->nodes[e];
                const size_t own =
                    (size_t)graph_elements(&earlier->shape) * (earlier->tokens ? 4 : 2);
                const bool replaced = graph_runs_in_place(graph, n) && node->inputs[0] == e;
                if (earlier->last_use >= n && !replaced) {
                    assert_false(overlap(arena.offsets[n], bytes, arena.offsets[e], own));
                    assert_false(overlap(arena.scratch[n], (size_t)node->scratch_elements * 2,
                                         arena.offsets[e], own));
                }
            }
        }
        graph_arena_free(&arena);
        graph_free(graph);
    }
}

/* ---- Malformed files ------------------------------------------------------------------------- */

/* Rows "| file | text |" of the corpus' table; each file is refused as a network in one line. */
static void every_malformed_network_of_the_corpus_is_refused_in_one_line(void **state)
{
    (void)state;
    struct error fault = {0};
    size_t rows = 0;
    size_t files = 0;
    char *table = json_read_text("tests/corpus/networks.md", NULL, &fault);
    assert_non_null(table);
    for (char *line = strtok(table, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char name[128];
        char path[256];
        int end = 0;
        struct error error = {0};
        const char *kind = "";
        if (sscanf(line, "| %127[^ |] | %n", name, &end) != 1 || strcmp(name, "file") == 0 ||
            name[0] == '-')
            continue;
        char *wanted = line + end;
        wanted[strlen(wanted) - 2] = '\0';
        (void)snprintf(path, sizeof path, "tests/corpus/network/%s", name);
        if (input_check(path, &kind, &error))
            fail_msg("%s is accepted as %s", path, kind);
        assert_int_equal(error.kind, ERROR_INPUT);
        if (strstr(error.message, wanted) == NULL || strstr(error.message, path) == NULL)
            fail_msg("%s: \"%s\" does not hold \"%s\"", path, error.message, wanted);
        assert_null(strchr(error.message, '\n'));
        rows++;
    }
    free(table);
    DIR *directory = opendir("tests/corpus/network");
    assert_non_null(directory);
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory))
        files += entry->d_name[0] != '.';
    (void)closedir(directory);
    assert_int_equal(rows, files);
    assert_true(rows > 50);
}

static void the_networks_that_ship_are_inputs_of_the_program(void **state)
{
    (void)state;
    for (size_t i = 0; i < PUBLISHED; i++) {
        char path[256];
        struct error error = {0};
        const char *kind = "";
        (void)snprintf(path, sizeof path, "%s/%s.json", folder, published[i].name);
        assert_true(input_check(path, &kind, &error));
        assert_string_equal(kind, "network");
        struct graph *graph = load(published[i].name);
        assert_string_equal(graph->name, published[i].name);
        assert_true(strlen(graph->source) > 20);
        assert_true(strlen(graph->licence) > 10);
        graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_and_work_are_within_one_percent_of_the_published),
        cmocka_unit_test(every_network_that_ships_is_compared_with_a_published_count),
        cmocka_unit_test(weights_take_the_bytes_that_the_paper_of_u2net_states),
        cmocka_unit_test(the_layers_of_bert_have_85_million_parameters),
        cmocka_unit_test(deblurgan_has_the_work_that_gan_compression_states_of_this_generator),
        cmocka_unit_test(midas_without_norms_and_unused_unit_has_the_parameters_of_open_model_zoo),
        cmocka_unit_test(srresnet_as_super_resolution_tables_have_it_has_their_counts),
        cmocka_unit_test(outputs_have_the_sizes_that_the_networks_are_known_for),
        cmocka_unit_test(layers_give_the_shapes_computed_by_hand),
        cmocka_unit_test(a_small_graph_counts_as_by_hand),
        cmocka_unit_test(an_attention_counts_its_two_products_and_keeps_its_scores),
        cmocka_unit_test(blocks_expand_to_the_nodes_that_their_layers_would_be),
        cmocka_unit_test(nodes_are_in_topological_order_and_every_one_is_read),
        cmocka_unit_test(work_is_proportional_to_the_batch_and_weights_do_not_depend_on_it),
        cmocka_unit_test(fully_convolutional_work_is_proportional_to_the_area),
        cmocka_unit_test(a_size_that_does_not_fit_leaves_the_graph_as_it_was),
        cmocka_unit_test(the_peak_of_memory_is_that_of_counting_tensors_alive_at_each_layer),
        cmocka_unit_test(tensors_alive_together_do_not_overlap_unless_one_replaces_the_other),
        cmocka_unit_test(every_malformed_network_of_the_corpus_is_refused_in_one_line),
        cmocka_unit_test(the_networks_that_ship_are_inputs_of_the_program),
    };
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}

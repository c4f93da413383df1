#include "traces/capture/executor/self_test.h"

/* Four networks: one with every kind of layer for images, one with tokens, one with the remaining
 * kinds, one whose planes are each processed by several blocks. */
static const char *const networks[] = {
    "{\"network\": \"images\", \"inputs\": [{\"name\": \"x\", \"shape\": [6, 19, 17]}], "
    "\"layers\": ["
    "{\"op\": \"conv\", \"channels\": 8, \"kernel\": 3, \"stride\": 2, \"pad\": 1, \"groups\": 2},"
    "{\"op\": \"batch_norm\"}, {\"op\": \"relu\", \"name\": \"a\"},"
    "{\"op\": \"conv\", \"channels\": 8, \"kernel\": 3, \"pad\": 2, \"dilation\": 2,"
    " \"bias\": false, \"name\": \"b\"},"
    "{\"op\": \"add\", \"from\": [\"b\", \"a\"]}, {\"op\": \"leaky_relu\", \"slope\": 0.2},"
    "{\"op\": \"max_pool\", \"kernel\": 3, \"stride\": 2, \"pad\": 1, \"ceil\": true},"
    "{\"op\": \"conv_transpose\", \"channels\": 6, \"kernel\": 3, \"stride\": 2, \"pad\": 1,"
    " \"output_pad\": 1, \"groups\": 2}, {\"op\": \"instance_norm\", \"affine\": true},"
    "{\"op\": \"tanh\", \"name\": \"c\"},"
    "{\"op\": \"upsample\", \"mode\": \"bilinear\", \"from\": [\"c\", \"x\"], \"name\": \"d\"},"
    "{\"op\": \"concat\", \"from\": [\"d\", \"x\"]}, {\"op\": \"reflect_pad\", \"pad\": [2, 1]},"
    "{\"op\": \"conv\", \"channels\": 12, \"kernel\": 1}, {\"op\": \"relu6\"},"
    "{\"op\": \"pixel_shuffle\", \"factor\": 2}, {\"op\": \"prelu\", \"per_channel\": true},"
    "{\"op\": \"avg_pool\", \"kernel\": 2, \"stride\": 2}, {\"op\": \"sigmoid\"},"
    "{\"op\": \"global_pool\"}, {\"op\": \"flatten\"},"
    "{\"op\": \"linear\", \"channels\": 10}, {\"op\": \"softmax\"}]}",
    "{\"network\": \"tokens\", \"inputs\": [{\"name\": \"t\", \"shape\": [9], \"type\": "
    "\"tokens\"}],"
    " \"outputs\": [\"s\", \"p\"], \"layers\": ["
    "{\"op\": \"embedding\", \"entries\": 31, \"channels\": 24, \"name\": \"e\"},"
    "{\"op\": \"layer_norm\", \"name\": \"n\"},"
    "{\"op\": \"linear\", \"channels\": 24, \"from\": \"n\", \"name\": \"q\"},"
    "{\"op\": \"linear\", \"channels\": 24, \"from\": \"n\", \"name\": \"k\"},"
    "{\"op\": \"linear\", \"channels\": 24, \"from\": \"n\", \"name\": \"v\"},"
    "{\"op\": \"attention\", \"heads\": 3, \"from\": [\"q\", \"k\", \"v\"], \"name\": \"a\"},"
    "{\"op\": \"add\", \"from\": [\"a\", \"n\"]}, {\"op\": \"linear\", \"channels\": 40},"
    "{\"op\": \"gelu\", \"name\": \"g\"},"
    "{\"op\": \"matmul\", \"transpose\": true, \"from\": [\"g\", \"g\"]},"
    "{\"op\": \"softmax\", \"name\": \"s\"},"
    "{\"op\": \"token\", \"index\": 2, \"from\": \"g\", \"name\": \"p\"}]}",
    "{\"network\": \"rest\", \"inputs\": [{\"name\": \"x\", \"shape\": [4, 8, 6]}], \"layers\": ["
    "{\"op\": \"upsample\", \"mode\": \"nearest\", \"factor\": 3},"
    "{\"op\": \"conv\", \"channels\": 4, \"kernel\": 3, \"pad\": 1, \"stride\": 3, \"groups\": 4,"
    " \"name\": \"a\"}, {\"op\": \"batch_norm\", \"name\": \"b\"},"
    "{\"op\": \"multiply\", \"from\": [\"b\", \"x\"]},"
    "{\"op\": \"clamp\", \"low\": -0.5, \"high\": 0.75, \"name\": \"c\"},"
    "{\"op\": \"add\", \"from\": [\"c\", \"x\", \"x\"]},"
    "{\"op\": \"upsample\", \"mode\": \"bilinear\", \"factor\": 2, \"align_corners\": true},"
    "{\"op\": \"prelu\"}, {\"op\": \"instance_norm\"},"
    "{\"op\": \"avg_pool\", \"kernel\": 3, \"stride\": 2, \"pad\": 1, \"count_pad\": false}]}",
    "{\"network\": \"planes\", \"inputs\": [{\"name\": \"x\", \"shape\": [2, 60, 92]}], "
    "\"layers\": ["
    "{\"op\": \"instance_norm\", \"affine\": true}, {\"op\": \"leaky_relu\", \"slope\": 0.5},"
    "{\"op\": \"reflect_pad\", \"pad\": 1}, {\"op\": \"instance_norm\"}]}",
};

const char *self_test_network(size_t index)
{
    return index < sizeof networks / sizeof networks[0] ? networks[index] : NULL;
}

/* The strict JSON reader on any text. */
#include <stdlib.h>

#include "sim/base/json.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error = {0};
    char *text = input_text(data, size);
    cJSON *root = json_parse(text, "input", &error);
    if (root == NULL && (error.kind != ERROR_INPUT || error.message[0] == '\0'))
        abort();
    cJSON_Delete(root);
    free(text);
    return 0;
}

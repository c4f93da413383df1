/* Stands in for libFuzzer's main: replays every file under the folders given, so that the corpus is
 * tested by any compiler. Prints what cmocka prints, one test a folder; a fault ends the program.
 */
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/fuzz/input.h"

static void replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size + 1);
    if (file == NULL || data == NULL || fread(data, 1, size, file) != size) {
        (void)fprintf(stderr, "replay: cannot read %s\n", path);
        exit(1);
    }
    (void)fclose(file);
    (void)LLVMFuzzerTestOneInput(data, size);
    /* What every file begins with is an input of its own: cut short, most formats break. */
    (void)LLVMFuzzerTestOneInput(data, size / 2);
    free(data);
}

static size_t replay_folder(char *folder)
{
    char *roots[] = {folder, NULL};
    size_t count = 0;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (walk == NULL)
        return 0;
    for (FTSENT *entry = fts_read(walk); entry != NULL; entry = fts_read(walk)) {
        if (entry->fts_info != FTS_F)
            continue;
        replay_file(entry->fts_path, (size_t)entry->fts_statp->st_size);
        count++;
    }
    (void)fts_close(walk);
    return count;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;
    for (int i = 1; i < argc; i++) {
        size_t count = replay_folder(argv[i]);
        failed += count == 0;
        (void)printf("[%s] every input under %s is read or refused (%zu files)\n",
                     count > 0 ? "       OK " : "  FAILED  ", argv[i], count);
    }
    (void)printf("[==========] %d test(s) run.\n[  PASSED  ] %d test(s).\n", argc - 1,
                 argc - 1 - failed);
    return failed > 0;
}

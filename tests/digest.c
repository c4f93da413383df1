/* Digests of the tables of a results file: of the values alone, not of how HDF5 stores them.
 *
 *   digest FILE.h5     one line: NAME=DIGEST for every table, by name
 *
 * Tables of the same name, as the requests of several runs, are one.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hdf5.h>

enum { TABLES_MAX = 32, NAME_SIZE = 64 };

struct tables {
    size_t count;
    struct {
        char name[NAME_SIZE];
        uint64_t digest;
    } table[TABLES_MAX];
};

/* FNV-1a. */
static uint64_t digest_add(uint64_t digest, const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        digest = (digest ^ bytes[i]) * UINT64_C(1099511628211);
    return digest;
}

static uint64_t *tables_find(struct tables *tables, const char *name)
{
    for (size_t i = 0; i < tables->count; i++)
        if (strcmp(tables->table[i].name, name) == 0)
            return &tables->table[i].digest;
    if (tables->count == TABLES_MAX)
        return NULL;
    (void)snprintf(tables->table[tables->count].name, NAME_SIZE, "%s", name);
    tables->table[tables->count].digest = UINT64_C(14695981039346656037);
    return &tables->table[tables->count++].digest;
}

static bool table_add(struct tables *tables, hid_t table, const char *name)
{
    uint64_t *digest = tables_find(tables, name);
    hid_t type = H5Dget_type(table), space = H5Dget_space(table);
    const hssize_t rows = H5Sget_simple_extent_npoints(space);
    const size_t size = H5Tget_size(type);
    unsigned char *bytes = calloc(rows > 0 ? (size_t)rows : 1, size);
    /* The type of the file: no conversion, and nothing between the columns. */
    const bool good = digest != NULL && bytes != NULL && rows >= 0 &&
                      H5Dread(table, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0;
    if (good)
        *digest = digest_add(*digest, bytes, (size_t)rows * size);
    free(bytes);
    H5Sclose(space);
    H5Tclose(type);
    return good;
}

/* All that the group holds, in order of the names. */
static bool group_add(struct tables *tables, hid_t group)
{
    H5G_info_t info;
    bool good = H5Gget_info(group, &info) >= 0;
    for (hsize_t i = 0; good && i < info.nlinks; i++) {
        char name[NAME_SIZE] = "";
        good = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name,
                                  H5P_DEFAULT) > 0;
        hid_t object = H5Oopen(group, name, H5P_DEFAULT);
        if (H5Iget_type(object) == H5I_GROUP)
            good = good && group_add(tables, object);
        else
            good = good && table_add(tables, object, name);
        H5Oclose(object);
    }
    return good;
}

int main(int argc, char **argv)
{
    static struct tables tables;
    hid_t file = argc == 2 ? H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT) : H5I_INVALID_HID;
    if (file < 0 || !group_add(&tables, file))
        return 1;
    for (size_t i = 0; i < tables.count; i++)
        printf(" %s=%08" PRIx32, tables.table[i].name,
               (uint32_t)(tables.table[i].digest ^ tables.table[i].digest >> 32));
    printf("\n");
    H5Fclose(file);
    return 0;
}

#include "results/store/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

struct seal {
    unsigned char mark[8];
    uint32_t checksum;
};

/* Computes the seal of the file's first `size` bytes. False: see errno. It reads the file in
 * blocks, because a mapped file would count as memory of the process. */
static bool seal_compute(int file, off_t size, struct seal *seal)
{
    unsigned char block[65536];
    uLong checksum = 0;
    ssize_t got = 0;
    for (off_t at = 0; at < size; at += got) {
        const off_t left = size - at;
        got = pread(file, block, left < (off_t)sizeof block ? (size_t)left : sizeof block, at);
        errno = got == 0 ? EIO : errno;
        if (got <= 0)
            return false;
        checksum = crc32_z(checksum, block, (size_t)got);
    }
    memset(seal, 0, sizeof *seal);
    memcpy(seal->mark, "esgseal1", sizeof seal->mark);
    seal->checksum = (uint32_t)checksum;
    return true;
}

bool seal_put(const char *path, struct error *error)
{
    struct stat status;
    struct seal seal;
    const int file = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
    bool good = file >= 0 && fstat(file, &status) == 0 && seal_compute(file, status.st_size, &seal);
    if (good) {
        errno = ENOSPC; /* reported after a short write */
        good = write(file, &seal, sizeof seal) == (ssize_t)sizeof seal;
    }
    const int reason = errno;
    if (file >= 0)
        (void)close(file);
    return good || error_run(error, "%s: cannot be written: %s", path, strerror(reason));
}

bool seal_is_whole(const char *path)
{
    struct stat status;
    struct seal found, wanted;
    const off_t size = (off_t)sizeof found;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const bool whole =
        file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size >= size &&
        pread(file, &found, sizeof found, status.st_size - size) == (ssize_t)sizeof found &&
        seal_compute(file, status.st_size - size, &wanted) &&
        memcmp(&found, &wanted, sizeof found) == 0;
    if (file >= 0)
        (void)close(file);
    return whole;
}

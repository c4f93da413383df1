#include "sim/base/version.h"

const char *version_number(void)
{
    return ESGSIM_VERSION;
}

const char *version_commit(void)
{
    return ESGSIM_COMMIT;
}

const char *version_sources(void)
{
    return ESGSIM_SOURCES;
}

const char *version_compiler(void)
{
#ifdef __clang__
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

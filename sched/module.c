#include "sched/module.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Calls that make a run depend on more than its seed --------------------------------------
 *
 * They end the run, with those that would find what is refused. Only the module's own references
 * are bound to them: libraries, sanitizers and the platform itself call the C library as ever, also
 * within a callback.
 */

/* clang-format off */
#define CHANCES(ROW) \
    ROW(rand) ROW(srand) ROW(random) ROW(srandom) \
    ROW(drand48) ROW(lrand48) ROW(mrand48) ROW(srand48) \
    ROW(getrandom) ROW(getentropy) ROW(arc4random) ROW(arc4random_buf) ROW(arc4random_uniform) \
    ROW(time) ROW(clock) ROW(clock_gettime) ROW(clock_getres) ROW(gettimeofday) ROW(ftime) \
    ROW(timespec_get) ROW(timespec_getres) ROW(times) ROW(getrusage) ROW(sysinfo) ROW(getloadavg) \
    ROW(syscall) ROW(getpid) ROW(getppid) ROW(gettid) ROW(getauxval) ROW(dlopen) ROW(dlsym) ROW(dlvsym)
#define DEFINE(name) static long chance_##name(void) { simulation_breach(#name); return 0; }
#define ENTRY(name) {#name, chance_##name},
CHANCES(DEFINE)
static const struct {
    const char *name;
    long (*call)(void);
} chances[] = {CHANCES(ENTRY)};
/* clang-format on */

/* ---- The module in memory -------------------------------------------------------------------- */

struct module {
    const struct policy *policy;
    Elf64_Addr base;
    const Elf64_Dyn *dynamic;
    Elf64_Addr sealed, sealed_end; /* what the loader made read-only; empty: nothing */
    struct module *next;
};

static struct module *modules;
static pthread_mutex_t modules_lock = PTHREAD_MUTEX_INITIALIZER;

static int sealed_find(struct dl_phdr_info *info, size_t size, void *context)
{
    struct module *module = context;
    const Elf64_Addr page = (Elf64_Addr)sysconf(_SC_PAGESIZE);
    if (info->dlpi_addr != module->base)
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *header = &info->dlpi_phdr[i];
        const Elf64_Addr start = module->base + header->p_vaddr;
        if (header->p_type == PT_GNU_RELRO) {
            module->sealed = start & -page;
            module->sealed_end = (start + header->p_memsz) & -page;
        }
    }
    return 1;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* An entry of the dynamic section; 0: there is none. Some C libraries leave addresses relative. */
static Elf64_Addr dynamic_find(const struct module *module, Elf64_Sxword tag, bool is_address)
{
    const Elf64_Dyn *entry = module->dynamic;
    while (entry->d_tag != DT_NULL && entry->d_tag != tag)
        entry++;
    const Elf64_Addr value = entry->d_tag == tag ? entry->d_un.d_ptr : 0;
    return is_address && 0 < value && value < module->base ? module->base + value : value;
}

/* Binds one reference: to the module's own definition, if it has one. */
__attribute__((no_sanitize_address)) static void reference_bind(const struct module *module,
                                                                const Elf64_Rela *reference)
{
    const Elf64_Sym *symbols = (const Elf64_Sym *)dynamic_find(module, DT_SYMTAB, true);
    const Elf64_Sym *symbol = &symbols[ELF64_R_SYM(reference->r_info)];
    const char *name = (const char *)dynamic_find(module, DT_STRTAB, true) + symbol->st_name;
    uint64_t *place = (uint64_t *)(module->base + reference->r_offset);
    const unsigned type = ELF64_ST_TYPE(symbol->st_info);
    const bool own = symbol->st_shndx != SHN_UNDEF;
    if (symbol == symbols || type > STT_FUNC ||
        (own && ELF64_ST_BIND(symbol->st_info) != STB_GLOBAL))
        return;
    uint64_t address = module->base + symbol->st_value + (Elf64_Addr)reference->r_addend;
    bool bound = own;
    for (size_t i = 0; !bound && i < sizeof chances / sizeof *chances; i++) {
        bound = strcmp(chances[i].name, name) == 0;
        address = (Elf64_Addr)chances[i].call;
    }
    if (bound)
        *place = address;
}

static bool symbol_check(const struct module *module, uint32_t index, const char *path,
                         struct error *error)
{
    const Elf64_Sym *symbol = (const Elf64_Sym *)dynamic_find(module, DT_SYMTAB, true) + index;
    const char *name = (const char *)dynamic_find(module, DT_STRTAB, true) + symbol->st_name;
    return symbol->st_shndx == SHN_UNDEF || strncmp(name, "platform_", strlen("platform_")) != 0 ||
           dlsym(RTLD_DEFAULT, name) == NULL ||
           error_input(error,
                       "%s: defines %s, which is the platform's (sched/policy.h); "
                       "give it another name, or make it static",
                       path, name);
}

/* The symbols that a module defines are in its hash table, by which a loader finds them: the number
 * of buckets, the first symbol, the words of a filter, its shift; filter, buckets, chains. */
static bool symbols_check(const struct module *module, const char *path, struct error *error)
{
    const uint32_t *old = (const uint32_t *)dynamic_find(module, DT_HASH, true);
    const uint32_t *hash = (const uint32_t *)dynamic_find(module, DT_GNU_HASH, true);
    bool good = true;
    for (uint32_t s = 1; good && old != NULL && s < old[1]; s++)
        good = symbol_check(module, s, path, error);
    for (uint32_t b = 0; good && hash != NULL && b < hash[0]; b++) {
        const uint32_t *buckets = hash + 4 + 2 * (size_t)hash[2], *chains = buckets + hash[0];
        bool more = buckets[b] > 0;
        for (uint32_t s = buckets[b]; good && more; s++) {
            good = symbol_check(module, s, path, error);
            more = (chains[s - hash[1]] & 1) == 0;
        }
    }
    return good;
}

static bool references_bind(const struct module *module, const char *path, struct error *error)
{
    static const Elf64_Sxword tables[][2] = {{DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}};
    const size_t sealed = module->sealed_end - module->sealed;
    if ((dynamic_find(module, DT_FLAGS, false) & DF_TEXTREL) != 0)
        return error_input(error, "%s: has addresses in its code; compile it with -fPIC", path);
    if (!symbols_check(module, path, error))
        return false;
    bool good = sealed == 0 ||
                mprotect((void *)module->sealed, sealed, PROT_READ | PROT_WRITE) == 0 ||
                error_run(error, "%s: its table of names cannot be changed", path);
    for (size_t t = 0; good && t < sizeof tables / sizeof *tables; t++) {
        const Elf64_Rela *reference = (const Elf64_Rela *)dynamic_find(module, tables[t][0], true);
        const size_t count = dynamic_find(module, tables[t][1], false) / sizeof *reference;
        for (size_t i = 0; i < count; i++)
            reference_bind(module, &reference[i]);
    }
    if (sealed > 0)
        (void)mprotect((void *)module->sealed, sealed, PROT_READ);
    return good;
}

/* ---- Modules --------------------------------------------------------------------------------- */

static struct module *module_find(const struct policy *policy)
{
    struct module *module = modules;
    while (module != NULL && module->policy != policy)
        module = module->next;
    return module;
}

static bool module_add(void *library, const struct policy *policy, const char *path,
                       struct error *error)
{
    struct link_map *map = NULL;
    struct module *module = calloc(1, sizeof *module);
    if (module == NULL || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) {
        free(module);
        return error_run(error, "%s: out of memory for this policy", path);
    }
    *module = (struct module){
        .policy = policy, .base = map->l_addr, .dynamic = map->l_ld, .next = modules};
    (void)dl_iterate_phdr(sealed_find, module);
    if (!references_bind(module, path, error)) {
        free(module);
        return false;
    }
    modules = module;
    return true;
}

bool module_adopt(void *library, const struct policy *policy, const char *path, struct error *error)
{
    (void)pthread_mutex_lock(&modules_lock);
    const bool good = module_find(policy) != NULL || module_add(library, policy, path, error);
    (void)pthread_mutex_unlock(&modules_lock);
    return good;
}

bool module_has(const struct policy *policy)
{
    (void)pthread_mutex_lock(&modules_lock);
    const bool has = module_find(policy) != NULL;
    (void)pthread_mutex_unlock(&modules_lock);
    return has;
}

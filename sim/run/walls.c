#include "sim/run/walls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SYSTEM_LIBRARIES "/lib:/lib64:/usr/lib:/usr/lib64:/usr/local/lib:/etc/ld.so.cache:/dev/null"

const char *walls_libraries;

#ifdef LANDLOCK_ACCESS_FS_MAKE_SYM
/* All rights of the first version; later versions have more, which are not needed. */
enum { RIGHTS = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1 };

static void file_allow(int rules, const char *path, size_t length)
{
    char name[4096];
    struct stat is;
    if (length == 0 || length >= sizeof name)
        return;
    memcpy(name, path, length);
    name[length] = '\0';
    struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE |
                                                                LANDLOCK_ACCESS_FS_EXECUTE,
                                              .parent_fd = open(name, O_PATH | O_CLOEXEC)};
    if (fstat(rule.parent_fd, &is) == 0 && S_ISDIR(is.st_mode))
        rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
    (void)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    (void)close(rule.parent_fd);
}

static void list_allow(int rules, const char *list)
{
    for (size_t length; list != NULL && *list != '\0'; list += length + (list[length] != '\0')) {
        length = strcspn(list, ":");
        file_allow(rules, list, length);
    }
}

static void files_close(const char *const *files, size_t count)
{
    const struct landlock_ruleset_attr all = {.handled_access_fs = RIGHTS};
    const int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    if (rules < 0)
        return;
    list_allow(rules, SYSTEM_LIBRARIES);
    list_allow(rules, walls_libraries);
    for (size_t i = 0; i < count; i++)
        if (files[i] != NULL)
            file_allow(rules, files[i], strlen(files[i]));
    (void)syscall(SYS_landlock_restrict_self, rules, 0);
    (void)close(rules);
}
#else
static void files_close(const char *const *files, size_t count)
{
    (void)files, (void)count;
}
#endif

/* Such a call is a fault, SIGSYS, which the guard reports. Threads of the policy are its own: their
 * start looks into the flags, and the newer call for it does not exist here. */
static void calls_close(void)
{
    /* clang-format off */
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define END(what) BPF_STMT(BPF_RET | BPF_K, what)
#define IF(name, skips) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, skips)
#define CALL(name) IF(name, 1), END(SECCOMP_RET_TRAP)
    struct sock_filter program[] = {
        LOAD(nr), CALL(execve), CALL(execveat), CALL(socket), CALL(socketpair), CALL(ptrace),
        CALL(process_vm_readv), CALL(process_vm_writev), CALL(getrandom), CALL(perf_event_open),
        CALL(io_uring_setup), CALL(bpf), CALL(shmget), CALL(msgget), CALL(semget),
#ifdef SYS_fork /* older machines have calls of their own */
        CALL(fork), CALL(vfork),
#endif
        IF(clone3, 1), END(SECCOMP_RET_ERRNO | ENOSYS),
        IF(clone, 4), LOAD(args[0]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
        END(SECCOMP_RET_ALLOW), END(SECCOMP_RET_TRAP),
        IF(kill, 4), LOAD(args[0]), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 0, 1),
        END(SECCOMP_RET_ALLOW), END(SECCOMP_RET_TRAP),
        END(SECCOMP_RET_ALLOW)};
    /* clang-format on */
    const struct sock_fprog filter = {sizeof program / sizeof *program, program};
    (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

void walls_raise(const char *const *files, size_t count)
{
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    files_close(files, count);
    calls_close();
}

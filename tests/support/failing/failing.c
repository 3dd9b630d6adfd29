/* Makes the Nth operation on files below one folder fail, as a disk does that breaks or is full. It is
 * loaded by LD_PRELOAD into the real programs, so that SQLite and everything beside it meet the error
 * where they would meet it on a machine. tests/support/failing/mod.rs compiles and steers it.
 *
 *   FAILING_BELOW  the folder; what lies elsewhere is none of our business
 *   FAILING_AT     the number, from 1, of the operation that fails; 0: none, they are only counted
 *   FAILING_FOR    so many fail in a row (1)
 *   FAILING_WITH   the errno
 *   FAILING_ON     "all": what writes, makes, removes, renames or syncs; "room": of these what needs room;
 *                  "folder": syncs of the folder itself; "reads": what reads, and nothing else
 *   FAILING_COUNT  a file of eight bytes, the count of operations so far
 *   FAILING_TOLD   a file that gets a line for each operation that failed
 *
 * Whatever is not to fail goes to the kernel by syscall(2): no look-up of the real function, so no
 * recursion and nothing to set up that a thread could meet half done. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { SYNC, ROOM, NAME, READ, FOLDER };

static char below[PATH_MAX];
static char told[PATH_MAX];
static size_t below_length;
static long first, times;
static int with;
static int on_reads, on_room, on_folder;
static _Atomic long *count;

static const char *setting(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
    const char *on = setting("FAILING_ON", "all");
    snprintf(below, sizeof below, "%s/", setting("FAILING_BELOW", ""));
    snprintf(told, sizeof told, "%s", setting("FAILING_TOLD", "/dev/null"));
    first = atol(setting("FAILING_AT", "0"));
    times = atol(setting("FAILING_FOR", "1"));
    with = atoi(setting("FAILING_WITH", "5"));
    on_reads = strcmp(on, "reads") == 0;
    on_room = strcmp(on, "room") == 0;
    on_folder = strcmp(on, "folder") == 0;
    int fd = syscall(SYS_openat, AT_FDCWD, setting("FAILING_COUNT", ""), O_RDWR | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    /* Shared, and kept when the program starts itself anew: the count goes on. */
    void *page = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (page == MAP_FAILED)
        return;
    count = page;
    /* Last: until here nothing is below it. */
    below_length = strlen(below);
}

static void tell(const char *what, const char *path)
{
    char line[PATH_MAX + 64];
    const char *name = strlen(path) < below_length ? "." : path + below_length;
    int length = snprintf(line, sizeof line, "%s %s\n", what, name);
    int fd = syscall(SYS_openat, AT_FDCWD, told, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0) {
        syscall(SYS_write, fd, line, length);
        syscall(SYS_close, fd);
    }
}

/* Counts one operation; whether it is one that fails, with errno set. */
static int fails_at(const char *path, enum kind kind, const char *what)
{
    if (!below_length || strncmp(path, below, below_length - 1) != 0)
        return 0;
    if (path[below_length - 1] == 0 && kind == SYNC)
        kind = FOLDER;
    else if (path[below_length - 1] != '/')
        return 0;
    if ((kind == READ) != on_reads || (on_room && kind != ROOM) || (on_folder && kind != FOLDER))
        return 0;
    long number = atomic_fetch_add(count, 1) + 1;
    if (!first || number < first || number - first >= times)
        return 0;
    tell(what, path);
    errno = with;
    return 1;
}

/* The same for an open file. errno stays as it was when nothing fails. */
static int fails(int fd, enum kind kind, const char *what)
{
    char link[64], path[PATH_MAX];
    if (!below_length)
        return 0;
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    errno = before;
    if (length <= 0)
        return 0;
    path[length] = 0;
    return fails_at(path, kind, what);
}

/* A disk breaks in the midst of a write: half of it is there. */
static ssize_t half(int fd, const void *from, size_t size, off_t at)
{
    int why = errno;
    if (at < 0)
        syscall(SYS_write, fd, from, size / 2);
    else
        syscall(SYS_pwrite64, fd, from, size / 2, at);
    errno = why;
    return -1;
}

ssize_t write(int fd, const void *from, size_t size)
{
    return fails(fd, ROOM, "write") ? half(fd, from, size, -1) : syscall(SYS_write, fd, from, size);
}

ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at)
{
    return fails(fd, ROOM, "pwrite") ? half(fd, from, size, at) : syscall(SYS_pwrite64, fd, from, size, at);
}

ssize_t writev(int fd, const struct iovec *from, int parts)
{
    return fails(fd, ROOM, "writev") ? -1 : syscall(SYS_writev, fd, from, parts);
}

ssize_t pwritev64(int fd, const struct iovec *from, int parts, off64_t at)
{
    return fails(fd, ROOM, "pwritev") ? -1 : syscall(SYS_pwritev, fd, from, parts, at, 0L);
}

ssize_t read(int fd, void *into, size_t size)
{
    return fails(fd, READ, "read") ? -1 : syscall(SYS_read, fd, into, size);
}

ssize_t pread64(int fd, void *into, size_t size, off64_t at)
{
    return fails(fd, READ, "pread") ? -1 : syscall(SYS_pread64, fd, into, size, at);
}

int fsync(int fd)
{
    return fails(fd, SYNC, "fsync") ? -1 : syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return fails(fd, SYNC, "fdatasync") ? -1 : syscall(SYS_fdatasync, fd);
}

int ftruncate64(int fd, off64_t size)
{
    return fails(fd, NAME, "ftruncate") ? -1 : syscall(SYS_ftruncate, fd, size);
}

int fallocate64(int fd, int mode, off64_t at, off64_t size)
{
    return fails(fd, ROOM, "fallocate") ? -1 : syscall(SYS_fallocate, fd, mode, at, size);
}

/* Returns the error, and leaves errno alone. */
int posix_fallocate64(int fd, off64_t at, off64_t size)
{
    int before = errno;
    int why = fallocate64(fd, 0, at, size) ? errno : 0;
    errno = before;
    return why;
}

/* Only what may make a file; the programs name theirs by whole paths. */
static int make_or_open(int folder, const char *path, int flags, mode_t mode)
{
    if ((flags & O_CREAT) && fails_at(path, ROOM, "create"))
        return -1;
    return syscall(SYS_openat, folder, path, flags, mode);
}

/* Where off_t has 64 bits the older names mean the same. */
#define SAME(name, as) extern __typeof(as) name __attribute__((alias(#as)))
SAME(pwrite, pwrite64);
SAME(pwritev, pwritev64);
SAME(pread, pread64);
SAME(ftruncate, ftruncate64);
SAME(fallocate, fallocate64);
SAME(posix_fallocate, posix_fallocate64);

#define OPENS(name, folder, ...)                              \
    int name(__VA_ARGS__, int flags, ...)                     \
    {                                                         \
        va_list rest;                                         \
        va_start(rest, flags);                                \
        mode_t mode = flags & O_CREAT ? va_arg(rest, int) : 0; \
        va_end(rest);                                         \
        return make_or_open(folder, path, flags, mode);       \
    }

OPENS(open, AT_FDCWD, const char *path)
OPENS(open64, AT_FDCWD, const char *path)
OPENS(openat, at, int at, const char *path)
OPENS(openat64, at, int at, const char *path)

int unlink(const char *path)
{
    return fails_at(path, NAME, "unlink") ? -1 : syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int unlinkat(int folder, const char *path, int flags)
{
    return fails_at(path, NAME, "unlink") ? -1 : syscall(SYS_unlinkat, folder, path, flags);
}

int rename(const char *from, const char *to)
{
    return fails_at(from, NAME, "rename") ? -1 : syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* stress-ng: another program's load, by its own options; where it is installed.
 *
 * Its options are split at white space and handed over as they are. Its processes are
 * counted as those that descend from the one started here. It runs in a folder of its own in the
 * scratch folder of the load, so that what it leaves there goes with it. It cannot become
 * real-time, and none of its files grows beyond 1 GiB, nor beyond half of what may be written;
 * what all of them and its memory may take is watched from outside (foreign.h). */
#include "base/posix_source.h"

#include "load/element.h"

#include "load/scratch.h"
#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WORDS = 64 };

#define FILE_BYTES (INT64_C(1) << 30)

/* It may neither take the CPU from what is measured nor fill the disk. */
static int prepare(struct loader *loader)
{
    int error = port_never_real_time();
    if (error) {
        loader_note(loader, "a real-time priority cannot be kept from it: %s", strerror(error));
        return error;
    }
    int folder = open(loader->map->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int64_t room = folder >= 0 ? scratch_room_bytes(folder) / 2 : 0;
    if (folder >= 0)
        close(folder);
    rlim_t most = (rlim_t)(room < FILE_BYTES ? room : FILE_BYTES);
    struct rlimit limit = {most, most};
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 ? 0 : errno;
}

static void work(struct loader *loader)
{
    static char options[LOAD_OPTIONS_BYTES];
    char *words[WORDS + 2] = {(char *)"stress-ng"};
    char *rest = NULL;
    int count = 1;
    strncpy(options, loader->options, sizeof options - 1);
    for (char *word = strtok_r(options, " \t", &rest); word && count <= WORDS;
         word = strtok_r(NULL, " \t", &rest))
        words[count++] = word;
    int error = loader->map->scratch[0] ? scratch_enter_room(loader->map) : 0;
    if (error) {
        loader_note(loader, "its folder could not be made: %s", strerror(error));
        return;
    }
    loader_works(loader);
    execvp(words[0], words);
    loader_note(loader, "stress-ng could not be started: %s", strerror(errno));
}

const struct load_element load_stress_ng = {
    .name = "stress-ng",
    .title = "the program stress-ng with these options, where it is installed",
    .kind = LOAD_FOREIGN,
    .counters = {[COUNTER_OWN] = "processes_count"},
    .needs_names = true,
    .prepare = prepare,
    .work = work,
};

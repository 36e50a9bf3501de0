/* stress-ng: runs the program stress-ng with the given options, if it is installed.
 *
 * The options are split at white space and passed unchanged. Its processes are counted as the
 * descendants of the one started here. It runs in a folder within the scratch folder of the load,
 * so that its files are removed with it. It cannot get a real-time priority. No file of it exceeds
 * 1 GiB or half of the space that the load may write. The sum of its files and its memory is
 * watched by the supervisor (external_stressor.h). */
#include "base/posix_source.h"

#include "load/element.h"

#include "port/port.h"
#include "work/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WORDS = 64 };

#define FILE_BYTES (INT64_C(1) << 30)

/* Keeps it from preempting the test and from filling the disk. */
static int prepare(struct worker *worker)
{
    int error = port_never_real_time();
    if (error) {
        worker_note(worker, "it could not be prevented from using real-time priorities: %s",
                    strerror(error));
        return error;
    }
    int folder = open(worker->map->scratch.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int64_t room = folder >= 0 ? scratch_room_bytes(folder) / 2 : 0;
    if (folder >= 0)
        close(folder);
    rlim_t most = (rlim_t)(room < FILE_BYTES ? room : FILE_BYTES);
    struct rlimit limit = {most, most};
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 ? 0 : errno;
}

static void work(struct worker *worker)
{
    char options[LOAD_OPTIONS_BYTES] = "";
    char *words[WORDS + 2] = {(char *)"stress-ng"};
    char *rest = NULL;
    int count = 1;
    strncpy(options, worker->options, sizeof options - 1);
    for (char *word = strtok_r(options, " \t", &rest); word && count <= WORDS;
         word = strtok_r(NULL, " \t", &rest))
        words[count++] = word;
    int error = worker->map->scratch.own[0] ? scratch_enter_room(&worker->map->scratch) : 0;
    if (error) {
        worker_note(worker, "its folder could not be created: %s", strerror(error));
        return;
    }
    worker_works(worker);
    execvp(words[0], words);
    worker_note(worker, "stress-ng could not be started: %s", strerror(errno));
}

const struct load_element load_stress_ng = {
    .name = "stress-ng",
    .title = "the program stress-ng with these options, if installed",
    .kind = LOAD_EXTERNAL_STRESSOR,
    .counters = {[COUNTER_OWN] = "processes_count"},
    .needs_names = true,
    .prepare = prepare,
    .work = work,
};

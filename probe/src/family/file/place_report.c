#include "base/posix_source.h"

#include "family/file/place_report.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

static const char *const storage_names[] = {
    [PORT_STORAGE_UNKNOWN] = "unknown", [PORT_STORAGE_DISK] = "disk",
    [PORT_STORAGE_MEMORY] = "memory",   [PORT_STORAGE_NETWORK] = "network",
    [PORT_STORAGE_KERNEL] = "kernel",
};

static struct datum text_or_none(const char *key, const char *text)
{
    return *text ? data_text(key, text) : data_none();
}

static const char *or_unknown(const char *text)
{
    return *text ? text : "not known";
}

static int64_t free_bytes(int file)
{
    struct statvfs facts;
    if (fstatvfs(file, &facts) != 0)
        return -1;
    return (int64_t)facts.f_bavail * (int64_t)(facts.f_frsize ? facts.f_frsize : facts.f_bsize);
}

static void tell_place(const struct file_place *place, int file)
{
    const struct port_file_place *facts = &place->facts;
    int64_t room = free_bytes(file);
    arena_event(
        place->run->arena, "file_place", -1,
        DATA(data_text("folder", place->scratch.folder), text_or_none("system", facts->system),
             text_or_none("device", facts->device),
             data_text("storage", storage_names[facts->storage]),
             text_or_none("options", facts->options),
             data_bool("options_cut", facts->are_options_cut),
             text_or_none("scheduler", facts->scheduler), data_bool("stacked", facts->is_stacked),
             data_bool("direct", place->can_direct),
             room >= 0 ? data_integer("free_bytes", room) : data_none()),
        "files in %.100s: file system %s on %s (%.80s%s), I/O scheduler %s%s, direct I/O "
        "%s, %lld MiB free",
        place->scratch.folder, or_unknown(facts->system), or_unknown(facts->device),
        or_unknown(facts->options), facts->are_options_cut ? "..." : "",
        or_unknown(facts->scheduler),
        facts->is_stacked ? " (of a device made of others, below which there are more)" : "",
        place->can_direct ? "possible" : "not possible", (long long)(room >> 20));
}

static bool has_option(const char *options, const char *wanted)
{
    size_t length = strlen(wanted);
    for (const char *at = options; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, wanted, length) == 0)
            return true;
    return false;
}

static bool keeps_flushes_back(const char *options)
{
    return has_option(options, "nobarrier") || has_option(options, "barrier=0");
}

/* Always told: it holds whatever the device says of its cache. */
static void tell_flush(const struct file_place *place)
{
    const struct port_file_place *facts = &place->facts;
    bool is_kept_back = keeps_flushes_back(facts->options);
    arena_event(
        place->run->arena, "file_flush", -1,
        DATA(text_or_none("write_cache", facts->write_cache), data_bool("kept_back", is_kept_back)),
        "write cache of the device: %s%s; whether the device has written to its medium "
        "when it says so cannot be seen from here",
        or_unknown(facts->write_cache),
        is_kept_back ? " (the mount options keep flushes from it)" : "");
}

static void tell_storage(const struct file_place *place)
{
    enum port_storage storage = place->facts.storage;
    if (storage == PORT_STORAGE_MEMORY)
        arena_event(place->run->arena, "file_in_memory", -1,
                    DATA(text_or_none("system", place->facts.system)),
                    "the files are in memory (%s): figures of synchronisation mean nothing here, "
                    "and the others are those of memory; name a folder on a disk with --dir",
                    or_unknown(place->facts.system));
    if (storage == PORT_STORAGE_NETWORK)
        arena_event(place->run->arena, "file_on_network", -1,
                    DATA(text_or_none("system", place->facts.system)),
                    "the files may be on another machine (%s): the figures are of the network and "
                    "of that machine too",
                    or_unknown(place->facts.system));
}

void file_place_tell(const struct file_place *place, int file)
{
    tell_place(place, file);
    if (place->facts.storage != PORT_STORAGE_MEMORY)
        tell_flush(place);
    tell_storage(place);
}

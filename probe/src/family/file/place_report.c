#include "base/posix_source.h"

#include "family/file/place_report.h"

#include <stdio.h>
#include <string.h>

static const char *const storage_names[] = {
    [PORT_STORAGE_UNKNOWN] = "unknown", [PORT_STORAGE_DISK] = "disk",
    [PORT_STORAGE_MEMORY] = "memory",   [PORT_STORAGE_NETWORK] = "network",
    [PORT_STORAGE_KERNEL] = "kernel",
};

static const char *or_unknown(const char *text)
{
    return *text ? text : "not known";
}

/* What lies below the folder, for people. */
static void describe(const struct port_file_place *facts, char *text, size_t bytes)
{
    if (!*facts->system)
        snprintf(text, bytes, "file system, device and I/O scheduler are not known here");
    else
        snprintf(text, bytes, "file system %s on %s (%.80s%s), I/O scheduler %s%s", facts->system,
                 facts->device, facts->options, facts->are_options_cut ? "..." : "",
                 or_unknown(facts->scheduler),
                 facts->is_stacked ? " (of a device made of others, which have their own)" : "");
}

static void tell_place(const struct place_report *report)
{
    const struct port_file_place *facts = report->facts;
    int64_t room = report->free_bytes;
    char below[ARENA_TEXT_BYTES];
    describe(facts, below, sizeof below);
    arena_event(report->run->arena, "file_place", -1,
                DATA(data_text("folder", report->folder),
                     *facts->system ? data_text("system", facts->system) : data_none(),
                     *facts->device ? data_text("device", facts->device) : data_none(),
                     data_text("storage", storage_names[facts->storage]),
                     *facts->options ? data_text("options", facts->options) : data_none(),
                     data_bool("options_cut", facts->are_options_cut),
                     *facts->scheduler ? data_text("scheduler", facts->scheduler) : data_none(),
                     data_bool("stacked", facts->is_stacked),
                     data_bool("direct", report->can_direct),
                     room >= 0 ? data_integer("free_bytes", room) : data_none()),
                "files in %.100s: %s, direct I/O %s, %lld MiB free", report->folder, below,
                report->can_direct ? "possible" : "not possible", (long long)(room >> 20));
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
static void tell_flush(const struct place_report *report)
{
    const struct port_file_place *facts = report->facts;
    bool is_kept_back = keeps_flushes_back(facts->options);
    arena_event(
        report->run->arena, "file_flush", -1,
        DATA(*facts->write_cache ? data_text("write_cache", facts->write_cache) : data_none(),
             data_bool("kept_back", is_kept_back)),
        "write cache of the device: %s%s; whether the device has written to its medium "
        "when it says so cannot be seen from here",
        or_unknown(facts->write_cache),
        is_kept_back ? " (the mount options keep flushes from it)" : "");
}

static void tell_storage(const struct place_report *report)
{
    enum port_storage storage = report->facts->storage;
    if (storage == PORT_STORAGE_MEMORY)
        arena_event(
            report->run->arena, "file_in_memory", -1,
            DATA(*report->facts->system ? data_text("system", report->facts->system) : data_none()),
            "the files are in memory (%s): figures of synchronisation mean nothing here, "
            "and the others are those of memory; name a folder on a disk with --dir",
            or_unknown(report->facts->system));
    if (storage == PORT_STORAGE_NETWORK)
        arena_event(
            report->run->arena, "file_on_network", -1,
            DATA(*report->facts->system ? data_text("system", report->facts->system) : data_none()),
            "the files may be on another machine (%s): the figures are of the network and "
            "of that machine too",
            or_unknown(report->facts->system));
}

void place_report_tell(const struct place_report *report)
{
    tell_place(report);
    if (report->facts->storage != PORT_STORAGE_MEMORY)
        tell_flush(report);
    tell_storage(report);
}

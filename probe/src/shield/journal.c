#include "base/posix_source.h"

#include "shield/journal.h"

#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "hardstone-shield"
#define NAME "hardstone-shield.journal"
#define SHORTER ".new"

enum { VERSION = 1, TRIES = 5, HEAD_LINES = 5 };

/* ---- writing ---- */

static int write_all(int descriptor, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t done = write(descriptor, bytes, count);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        bytes += done;
        count -= (size_t)done;
    }
    return 0;
}

static void flush_buffer(struct journal *journal)
{
    if (journal->error == 0)
        journal->error = write_all(journal->descriptor, journal->buffer, journal->used);
    journal->used = 0;
}

static void append(struct journal *journal, const char *text, size_t length)
{
    if (journal->used + length > sizeof journal->buffer)
        flush_buffer(journal);
    if (length > sizeof journal->buffer) {
        journal->error = journal->error ? journal->error : EMSGSIZE;
        return;
    }
    memcpy(journal->buffer + journal->used, text, length);
    journal->used += length;
}

int journal_note(struct journal *journal, int count, const char *const fields[])
{
    for (int i = 0; i < count; i++)
        if (strpbrk(fields[i], "\t\n"))
            return -1;
    for (int i = 0; i < count; i++) {
        append(journal, fields[i], strlen(fields[i]));
        append(journal, i + 1 < count ? "\t" : "\n", 1);
    }
    return 0;
}

int journal_sync(struct journal *journal)
{
    if (journal->used == 0)
        return journal->error;
    flush_buffer(journal);
    if (journal->error == 0 && fsync(journal->descriptor) != 0)
        journal->error = errno;
    return journal->error;
}

/* ---- path, creation ---- */

static const char *usual_folder(void)
{
    static const char *const folders[] = {"/run", "/var/run"};
    struct stat facts;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (stat(folders[i], &facts) == 0 && S_ISDIR(facts.st_mode))
            return folders[i];
    return "/tmp";
}

static void set_path(struct journal *journal, const char *folder)
{
    journal->descriptor = -1;
    journal->error = 0;
    journal->used = 0;
    snprintf(journal->path, sizeof journal->path, "%s/" NAME, folder ? folder : usual_folder());
}

static void note_head(struct journal *journal, const struct journal_head *head)
{
    char text[CPUS_TEXT_BYTES], start[32];
    const char *line[3] = {MAGIC, text};
    snprintf(text, sizeof text, "%d", VERSION);
    journal_note(journal, 2, line);
    line[0] = "boot";
    line[1] = head->boot;
    journal_note(journal, 2, line);
    line[0] = "owner";
    line[1] = text;
    line[2] = start;
    snprintf(text, sizeof text, "%ld", (long)head->owner);
    snprintf(start, sizeof start, "%" PRIu64, head->owner_start);
    journal_note(journal, 3, line);
    line[0] = "since";
    snprintf(text, sizeof text, "%" PRId64, head->since_utc_ns);
    journal_note(journal, 2, line);
    line[0] = "cpus";
    cpus_format_list(&head->reserved, text, sizeof text);
    journal_note(journal, 2, line);
}

/* Creates and locks the file at journal->path: 0, or an errno value. */
static int make(struct journal *journal)
{
    int flags = O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    struct stat facts;
    journal->descriptor = open(journal->path, flags, 0600);
    if (journal->descriptor < 0)
        return errno;
    /* until it is locked, another process may take the empty journal for a stale one and remove it
     */
    if (flock(journal->descriptor, LOCK_EX | LOCK_NB) == 0 &&
        fstat(journal->descriptor, &facts) == 0 && facts.st_nlink > 0)
        return 0;
    journal_close(journal);
    return EEXIST;
}

int journal_create(struct journal *journal, const char *folder)
{
    set_path(journal, folder);
    return make(journal);
}

int journal_begin(struct journal *journal, const struct journal_head *head)
{
    note_head(journal, head);
    return journal_sync(journal);
}

/* ---- reading ---- */

static void split(char *line, struct port_change *record)
{
    record->count = 0;
    for (char *at = line; at && record->count <= PORT_CHANGE_FIELDS; record->count++) {
        char *tab = strchr(at, '\t');
        if (tab)
            *tab = '\0';
        if (record->count < PORT_CHANGE_FIELDS)
            record->field[record->count] = at;
        at = tab ? tab + 1 : NULL;
    }
}

static bool number_field(const char *text, uint64_t most, uint64_t *number)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *number = value;
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && value <= most;
}

static bool is_line(const struct port_change *record, const char *kind, int count)
{
    return record->count == count && strcmp(record->field[0], kind) == 0;
}

static bool read_head(const struct port_change *lines, struct journal_head *head)
{
    uint64_t version, owner, since;
    if (!is_line(&lines[0], MAGIC, 2) || !number_field(lines[0].field[1], VERSION, &version) ||
        version != VERSION)
        return false;
    if (!is_line(&lines[1], "boot", 2) || strlen(lines[1].field[1]) >= sizeof head->boot)
        return false;
    if (!is_line(&lines[2], "owner", 3) || !number_field(lines[2].field[1], INT32_MAX, &owner) ||
        !number_field(lines[2].field[2], UINT64_MAX, &head->owner_start))
        return false;
    if (!is_line(&lines[3], "since", 2) || !number_field(lines[3].field[1], INT64_MAX, &since))
        return false;
    if (!is_line(&lines[4], "cpus", 2) || cpus_parse_list(lines[4].field[1], &head->reserved) != 0)
        return false;
    snprintf(head->boot, sizeof head->boot, "%s", lines[1].field[1]);
    head->owner = (pid_t)owner;
    head->since_utc_ns = (int64_t)since;
    return true;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (const char *at = strchr(text, '\n'); at; at = strchr(at + 1, '\n'))
        count++;
    return count;
}

int journal_parse(char *text, struct journal_image *image, char *reason, size_t reason_bytes)
{
    size_t lines = count_lines(text);
    memset(image, 0, sizeof *image);
    if (*text == '\0') /* the owner was killed before it wrote the head: nothing was changed */
        return 0;
    image->changes.each = calloc(lines + 1, sizeof *image->changes.each);
    if (!image->changes.each) {
        snprintf(reason, reason_bytes, "no memory to read it");
        return -1;
    }
    char *at = text;
    for (size_t i = 0; i < lines; i++) {
        char *end = strchr(at, '\n');
        *end = '\0';
        split(at, &image->changes.each[i]);
        at = end + 1;
    }
    if (lines < HEAD_LINES || !read_head(image->changes.each, &image->head)) {
        snprintf(reason, reason_bytes, "it is not a journal of hardstone, or it is damaged");
        free(image->changes.each);
        memset(image, 0, sizeof *image);
        return -1;
    }
    image->changes.count = lines - HEAD_LINES;
    memmove(image->changes.each, image->changes.each + HEAD_LINES,
            image->changes.count * sizeof *image->changes.each);
    image->changes.reserved = image->head.reserved;
    image->changes.owner_start = image->head.owner_start;
    image->text = text;
    return 0;
}

/* True for a regular file that only this user can have written, with its size in `bytes`. */
static bool is_ours(int descriptor, off_t *bytes, char *reason, size_t reason_bytes)
{
    struct stat facts;
    if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode))
        snprintf(reason, reason_bytes, "it is not a regular file");
    else if (facts.st_uid != geteuid() || (facts.st_mode & 022) != 0)
        snprintf(reason, reason_bytes, "another user owns it, or others may write to it");
    else if (facts.st_nlink > 1)
        snprintf(reason, reason_bytes, "it has a second hard link");
    else if (facts.st_size > JOURNAL_MOST_BYTES)
        snprintf(reason, reason_bytes, "it is too large for a journal");
    else {
        *bytes = facts.st_size;
        return true;
    }
    return false;
}

int journal_reread(struct journal *journal, struct journal_image *image, char *reason,
                   size_t reason_bytes)
{
    off_t bytes;
    memset(image, 0, sizeof *image);
    if (!is_ours(journal->descriptor, &bytes, reason, reason_bytes))
        return -1;
    char *text = malloc((size_t)bytes + 1);
    if (!text) {
        snprintf(reason, reason_bytes, "no memory to read it");
        return -1;
    }
    ssize_t got = pread(journal->descriptor, text, (size_t)bytes, 0);
    text[got > 0 ? got : 0] = '\0';
    if (got < 0 || strlen(text) != (size_t)got)
        snprintf(reason, reason_bytes, got < 0 ? "it cannot be read" : "it is damaged");
    else if (journal_parse(text, image, reason, reason_bytes) == 0) {
        if (!image->text)
            free(text);
        return 0;
    }
    free(text);
    return -1;
}

enum journal_state journal_find(struct journal *journal, const char *folder,
                                struct journal_image *image, char *reason, size_t reason_bytes)
{
    struct stat facts;
    for (int i = 0; i < TRIES; i++) {
        set_path(journal, folder);
        memset(image, 0, sizeof *image);
        journal->descriptor =
            open(journal->path, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (journal->descriptor < 0 && errno == ENOENT)
            return JOURNAL_NONE;
        if (journal->descriptor < 0) {
            snprintf(reason, reason_bytes, "%s", errno == ELOOP ? "it is a link" : strerror(errno));
            return JOURNAL_BAD;
        }
        bool is_held = flock(journal->descriptor, LOCK_EX | LOCK_NB) != 0;
        if (fstat(journal->descriptor, &facts) == 0 && facts.st_nlink == 0) {
            journal_close(journal); /* removed since open */
            continue;
        }
        if (journal_reread(journal, image, reason, reason_bytes) != 0) {
            journal_close(journal);
            return JOURNAL_BAD;
        }
        return is_held ? JOURNAL_HELD : JOURNAL_STALE;
    }
    return JOURNAL_NONE;
}

void journal_free_image(struct journal_image *image)
{
    free(image->changes.each);
    free(image->text);
    memset(image, 0, sizeof *image);
}

void journal_remove(struct journal *journal)
{
    char shorter[JOURNAL_PATH_BYTES + sizeof SHORTER];
    snprintf(shorter, sizeof shorter, "%s" SHORTER, journal->path);
    if (journal->descriptor >= 0) {
        unlink(shorter); /* left by a process killed in journal_keep */
        unlink(journal->path);
    }
    journal_close(journal);
}

static int write_left(struct journal *fresh, const struct journal_image *image)
{
    note_head(fresh, &image->head);
    for (size_t i = 0; i < image->changes.count; i++) {
        const struct port_change *record = &image->changes.each[i];
        if (!record->is_left)
            continue;
        if (record->count > PORT_CHANGE_FIELDS)
            return EMSGSIZE; /* the fields beyond PORT_CHANGE_FIELDS are lost */
        journal_note(fresh, record->count, record->field);
    }
    return journal_sync(fresh);
}

int journal_keep(struct journal *journal, const struct journal_image *image)
{
    struct journal fresh;
    memset(&fresh, 0, sizeof fresh);
    fresh.descriptor = -1;
    int length = snprintf(fresh.path, sizeof fresh.path, "%s" SHORTER, journal->path);
    if (length >= (int)sizeof fresh.path)
        return ENAMETOOLONG;
    unlink(fresh.path); /* left by a killed process; only the holder of the lock gets here */
    int error = make(&fresh);
    if (error == 0)
        error = write_left(&fresh, image);
    if (error == 0 && rename(fresh.path, journal->path) != 0)
        error = errno;
    if (error) {
        journal_remove(&fresh);
        return error;
    }
    journal_close(journal);
    journal->descriptor = fresh.descriptor;
    return 0;
}

int journal_forget(struct journal *journal, const char *folder)
{
    set_path(journal, folder);
    journal->descriptor = open(journal->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is_held = journal->descriptor >= 0 && flock(journal->descriptor, LOCK_EX | LOCK_NB) != 0 &&
                   errno == EWOULDBLOCK;
    int error = is_held ? EBUSY : unlink(journal->path) != 0 ? errno : 0;
    journal_close(journal);
    return error;
}

void journal_close(struct journal *journal)
{
    if (journal->descriptor >= 0)
        close(journal->descriptor);
    journal->descriptor = -1;
}

/* ---- what an earlier shield has left ---- */

bool shield_is_void(const struct journal_head *head)
{
    char boot[JOURNAL_BOOT_BYTES];
    return !port_boot_name(boot, sizeof boot) || strcmp(boot, head->boot) != 0;
}

/* Only changes of the preemption model. */
static bool is_of_preemption(const struct journal_image *image)
{
    for (size_t i = 0; i < image->changes.count; i++)
        if (strcmp(image->changes.each[i].field[0], "preempt") != 0)
            return false;
    return image->changes.count > 0;
}

static void describe_left(struct shield_earlier *left, const struct journal_image *image)
{
    if (left->cpus[0])
        snprintf(
            left->text, sizeof left->text,
            "process %ld had reserved CPU %s, or taken it offline, and ended without restoring it",
            left->owner, left->cpus);
    else
        snprintf(left->text, sizeof left->text,
                 "process %ld had changed %s and ended without restoring it", left->owner,
                 is_of_preemption(image) ? "the preemption model" : "timerlat's settings");
}

bool shield_is_left(struct shield_earlier *left)
{
    struct journal found;
    struct journal_image image;
    char reason[200];
    enum journal_state state = journal_find(&found, NULL, &image, reason, sizeof reason);
    memset(left, 0, sizeof *left);
    bool is_left = state == JOURNAL_STALE && image.head.owner > 0 && !shield_is_void(&image.head);
    if (is_left) {
        left->owner = image.head.owner;
        cpus_format_list(&image.head.reserved, left->cpus, sizeof left->cpus);
        describe_left(left, &image);
    }
    if (state == JOURNAL_HELD || state == JOURNAL_STALE)
        journal_free_image(&image);
    journal_close(&found);
    return is_left;
}

/* ---- notes ---- */

enum { NAMED = 4 };

static struct shield_note *find(struct shield_notes *notes, const char *setting, const char *reason)
{
    for (int i = 0; i < notes->count; i++)
        if (strcmp(notes->note[i].setting, setting) == 0 &&
            strcmp(notes->note[i].reason, reason) == 0)
            return &notes->note[i];
    if (notes->count == NOTES) {
        notes->dropped++;
        return NULL;
    }
    struct shield_note *note = &notes->note[notes->count++];
    memset(note, 0, sizeof *note);
    note->setting = setting;
    snprintf(note->reason, sizeof note->reason, "%s", reason);
    return note;
}

void shield_note(struct shield_notes *notes, const char *setting, const char *name,
                 const char *reason)
{
    if (notes->is_verbose)
        message_print("not moved: %s%s%s: %s", setting, name ? " " : "", name ? name : "", reason);
    struct shield_note *note = find(notes, setting, reason);
    if (!note)
        return;
    note->count++;
    size_t used = strlen(note->names);
    if (name && note->named < NAMED && used + strlen(name) + 3 < sizeof note->names) {
        snprintf(note->names + used, sizeof note->names - used, "%s%s", used ? ", " : "", name);
        note->named++;
    }
}

void shield_note_text(const struct shield_note *note, char *text, size_t bytes)
{
    if (note->named == 0)
        snprintf(text, bytes, "%s: %s", note->setting, note->reason);
    else if (note->count == 1)
        snprintf(text, bytes, "%s: %s: %s", note->setting, note->names, note->reason);
    else
        snprintf(text, bytes, "%s: %d (%s%s): %s", note->setting, note->count, note->names,
                 note->count > note->named ? ", ..." : "", note->reason);
}

/* Number of named things of this note's setting; 0: the whole setting; -1: an earlier note has the
 * same setting and was counted. */
static int count_of(const struct shield_notes *notes, int first)
{
    int count = 0;
    for (int i = 0; i < notes->count; i++) {
        bool is_same = strcmp(notes->note[i].setting, notes->note[first].setting) == 0;
        if (is_same && i < first)
            return -1;
        if (is_same && notes->note[i].named > 0)
            count += notes->note[i].count;
    }
    return count;
}

bool shield_notes_fold(const struct shield_notes *notes, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < notes->count && used < bytes; i++) {
        int count = count_of(notes, i);
        if (count < 0)
            continue;
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "",
                                 notes->note[i].setting);
        if (count > 0 && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, " (%d)", count);
    }
    if (notes->dropped && used < bytes)
        snprintf(text + used, bytes - used, ", and %d more", notes->dropped);
    return notes->count > 0;
}

const struct port_shield_log shield_log = {
    .add = journal_note, .sync = journal_sync, .refused = shield_note};

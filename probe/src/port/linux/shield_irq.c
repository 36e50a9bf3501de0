/* Affinity of interrupts.
 *
 * An interrupt is served by one CPU of its mask, its effective affinity, and the kernel keeps that
 * CPU while it is in the mask. Restoring only the old mask would therefore leave every interrupt on
 * the CPU that it was moved to. So the effective affinity is journalled too, and written first.
 *
 * Many kinds of interrupts move only when they fire. Until then the file shows the mask written
 * last; during the move it may show an older one (seen in 69 of 3 million reads beside 2700 moves,
 * for up to 1.3 ms). So no decision rests on one read: either a second one follows MOVE_NS later,
 * or the mask is written anyway.
 */
#include "port/linux/shield.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_MASK "/proc/irq/default_smp_affinity"

enum { IRQ_PATH_BYTES = 96, IRQ_DIGITS = 9, MOVE_NS = 5000000, MOST_LOOKS = 10 };

static const char setting[] = "interrupts";

/* `cpus`: the mask that was read, later the mask to be set. */
struct irq {
    char name[IRQ_DIGITS + 1];
    struct cpus cpus;
};

struct irqs {
    size_t count, room;
    struct irq *irq;
};

static void irq_path(char path[IRQ_PATH_BYTES], const char *name, const char *file)
{
    snprintf(path, IRQ_PATH_BYTES, "/proc/irq/%.9s/%s", name, file);
}

static bool is_number(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    return digits > 0 && digits <= IRQ_DIGITS && name[digits] == '\0';
}

static bool read_list(struct port_shield *shield, const char *name, const char *file,
                      char text[CPUS_TEXT_BYTES], struct cpus *set)
{
    char path[IRQ_PATH_BYTES];
    irq_path(path, name, file);
    return linux_shield_read(shield, path, text, CPUS_TEXT_BYTES) == 0 &&
           cpus_parse_list(text, set) == 0;
}

static void wait_for_moves(void)
{
    struct timespec wait = {.tv_nsec = MOVE_NS};
    nanosleep(&wait, NULL);
}

static bool add(struct irqs *irqs, const char *name, const struct cpus *cpus)
{
    if (irqs->count == irqs->room) {
        size_t room = irqs->room ? irqs->room * 2 : 64;
        struct irq *more = realloc(irqs->irq, room * sizeof *more);
        if (!more)
            return false;
        irqs->irq = more;
        irqs->room = room;
    }
    struct irq *irq = &irqs->irq[irqs->count++];
    snprintf(irq->name, sizeof irq->name, "%.9s", name);
    irq->cpus = *cpus;
    return true;
}

/* Reads the mask, MOVE_NS apart, until it equals the last one read (in `irq`); MOST_LOOKS at
 * most. */
static bool read_settled(struct port_shield *shield, struct irq *irq, char text[CPUS_TEXT_BYTES])
{
    struct cpus mask;
    for (int look = 1; read_list(shield, irq->name, "smp_affinity_list", text, &mask); look++) {
        bool is_recovered = cpus_same(&mask, &irq->cpus);
        irq->cpus = mask;
        if (is_recovered || look == MOST_LOOKS)
            return true;
        wait_for_moves();
    }
    return false;
}

static int note_irq(struct port_shield *shield, struct irq *irq, bool *is_ours)
{
    char before[CPUS_TEXT_BYTES], ours[CPUS_TEXT_BYTES], served[CPUS_TEXT_BYTES];
    struct cpus effective;
    *is_ours = read_settled(shield, irq, before) && cpus_overlap(&irq->cpus, &shield->reserved);
    if (!*is_ours)
        return 0;
    if (!read_list(shield, irq->name, "effective_affinity_list", served, &effective))
        served[0] = '\0';
    irq->cpus = cpus_kept_off(&irq->cpus, &shield->reserved, &shield->others);
    cpus_format_list(&irq->cpus, ours, sizeof ours);
    const char *fields[] = {"irq", irq->name, before, ours, served};
    return linux_shield_note(shield, 5, fields) == 0 ? 0 : ENOMEM;
}

static int look_at_all(struct port_shield *shield, struct irqs *irqs)
{
    char full[LINUX_PATH_BYTES], text[CPUS_TEXT_BYTES];
    struct cpus mask;
    linux_shield_path(shield, "/proc/irq", full);
    DIR *folder = opendir(full);
    if (!folder)
        return errno == ENOENT ? ENOTSUP : errno;
    bool is_added = true;
    struct dirent *entry;
    while (is_added && (entry = readdir(folder)) != NULL)
        if (is_number(entry->d_name) &&
            read_list(shield, entry->d_name, "smp_affinity_list", text, &mask))
            is_added = add(irqs, entry->d_name, &mask);
    closedir(folder);
    return is_added ? 0 : ENOMEM;
}

/* Journals the interrupts that have to move, and keeps only those in `irqs`. */
static int note_all(struct port_shield *shield, struct irqs *irqs)
{
    int error = look_at_all(shield, irqs);
    size_t ours_count = 0;
    wait_for_moves();
    for (size_t i = 0; error == 0 && i < irqs->count; i++) {
        bool is_ours;
        error = note_irq(shield, &irqs->irq[i], &is_ours);
        if (is_ours)
            irqs->irq[ours_count++] = irqs->irq[i];
    }
    irqs->count = ours_count;
    return error;
}

static int change(const struct port_shield *shield, const char *path, const char *list)
{
    char now[CPUS_TEXT_BYTES];
    int error = linux_shield_change(shield, path, list);
    if (error != EAGAIN)
        return error;
    wait_for_moves();
    error = linux_shield_read(shield, path, now, sizeof now);
    return error == 0 && !linux_shield_same(now, list) ? EAGAIN : error;
}

static const char *why(int error)
{
    switch (error) {
    case EIO:
    case EPERM:
        return "the kernel does not allow a change of its affinity (managed, or of one CPU)";
    case ENOSPC:
        return "the other CPUs have no interrupt vector left";
    case EAGAIN:
        return "the kernel accepted the new affinity and did not keep it";
    default:
        return strerror(error);
    }
}

static int move_all(struct port_shield *shield, const struct irqs *irqs, int *refused)
{
    int moved = 0;
    for (size_t i = 0; i < irqs->count; i++) {
        char path[IRQ_PATH_BYTES], ours[CPUS_TEXT_BYTES];
        irq_path(path, irqs->irq[i].name, "smp_affinity_list");
        cpus_format_list(&irqs->irq[i].cpus, ours, sizeof ours);
        int error = change(shield, path, ours);
        moved += error == 0 ? 1 : 0;
        if (error == EACCES || error == EROFS)
            *refused = error;
        if (error)
            linux_shield_refused(shield, setting, irqs->irq[i].name, "%s", why(error));
    }
    return moved;
}

/* Notes interrupts that were moved but stay on a reserved CPU until they fire. */
static void note_waiting(struct port_shield *shield, const struct irqs *irqs)
{
    for (size_t i = 0; i < irqs->count; i++) {
        char text[CPUS_TEXT_BYTES];
        struct cpus mask, served;
        const char *name = irqs->irq[i].name;
        if (read_list(shield, name, "smp_affinity_list", text, &mask) &&
            !cpus_overlap(&mask, &shield->reserved) &&
            read_list(shield, name, "effective_affinity_list", text, &served) &&
            cpus_overlap(&served, &shield->reserved))
            linux_shield_refused(
                shield, setting, name,
                "they move when they next fire, so each may interrupt the CPU once more");
    }
}

/* The affinity that new interrupts get. */
static void move_default(struct port_shield *shield)
{
    char before[CPUS_TEXT_BYTES], ours[CPUS_TEXT_BYTES];
    struct cpus mask;
    if (linux_shield_read(shield, DEFAULT_MASK, before, sizeof before) != 0 ||
        cpus_parse_mask(before, &mask) != 0 || !cpus_overlap(&mask, &shield->reserved))
        return;
    struct cpus wanted = cpus_kept_off(&mask, &shield->reserved, &shield->others);
    cpus_format_mask(&wanted, ours, sizeof ours);
    int error = linux_shield_set(shield, DEFAULT_MASK, before, ours);
    if (error)
        linux_shield_refused(shield, setting, "default", "%s", strerror(error));
}

static bool note_balancer(const struct linux_task *task, void *context)
{
    struct port_shield *shield = context;
    if (strcmp(task->name, "irqbalance") != 0 || linux_task_is_kernel(task))
        return true;
    linux_shield_refused(shield, setting, NULL,
                         "irqbalance runs and may move interrupts back; stop it during the run");
    return false;
}

int linux_shield_interrupts(struct port_shield *shield, char *text, size_t bytes)
{
    struct irqs irqs = {0};
    int refused = 0, error = note_all(shield, &irqs);
    if (error == 0)
        error = linux_shield_sync(shield);
    if (error) {
        free(irqs.irq);
        snprintf(text, bytes, "/proc/irq: %s", strerror(error));
        return error;
    }
    int moved = move_all(shield, &irqs, &refused);
    note_waiting(shield, &irqs);
    bool is_refused = moved == 0 && refused != 0;
    snprintf(text, bytes, "%d of %zu interrupts moved", moved, irqs.count);
    if (moved == 0)
        shield->unchanged |= 1u << SHIELD_INTERRUPTS;
    free(irqs.irq);
    if (is_refused) {
        snprintf(text, bytes, "/proc/irq: %s", strerror(refused));
        return refused;
    }
    move_default(shield);
    linux_task_each(shield, note_balancer, shield);
    return 0;
}

bool linux_shield_show_interrupts(struct port_shield *shield, char *text, size_t bytes)
{
    char full[LINUX_PATH_BYTES], list[CPUS_TEXT_BYTES];
    struct cpus mask;
    int all = 0, here = 0;
    linux_shield_path(shield, "/proc/irq", full);
    DIR *folder = opendir(full);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        if (!is_number(entry->d_name) ||
            !read_list(shield, entry->d_name, "smp_affinity_list", list, &mask))
            continue;
        all++;
        here += cpus_overlap(&mask, &shield->reserved) ? 1 : 0;
    }
    if (folder)
        closedir(folder);
    snprintf(text, bytes,
             all ? "%d of %d interrupts may come to these CPUs"
                 : "there are no interrupts in /proc/irq",
             here, all);
    return all > 0;
}

/* Writes the effective affinity first, then the mask (see above). */
static int put_back(struct port_shield *shield, const char *path, const char *before,
                    const char *served)
{
    struct cpus mask, effective;
    if (cpus_parse_list(served, &effective) == 0 && cpus_first(&effective) >= 0 &&
        cpus_parse_list(before, &mask) == 0 && !cpus_same(&mask, &effective))
        linux_shield_write(shield, path, served); /* may fail: the mask is what counts */
    return change(shield, path, before);
}

enum port_undo linux_shield_undo_irq(struct port_shield *shield, const struct port_changes *changes,
                                     const struct port_change *record, char *text, size_t bytes)
{
    char path[IRQ_PATH_BYTES], now[CPUS_TEXT_BYTES];
    struct cpus mask;
    const char *const *field = record->field;
    bool is_valid = record->count == 5 && is_number(field[1]);
    for (int i = 2; is_valid && i < 5; i++)
        is_valid = cpus_parse_list(field[i], &mask) == 0;
    if (!is_valid) {
        snprintf(text, bytes, "a line about an interrupt is damaged");
        return PORT_UNDO_REFUSED;
    }
    irq_path(path, field[1], "smp_affinity_list");
    int error = linux_shield_read(shield, path, now, sizeof now);
    if (error == 0 && !linux_shield_same(now, field[2]) && !linux_shield_same(now, field[3])) {
        wait_for_moves();
        error = linux_shield_read(shield, path, now, sizeof now);
    }
    bool is_back = error == 0 && linux_shield_same(now, field[2]);
    if (is_back)
        linux_shield_write(shield, path, field[2]); /* a move to our mask may be pending */
    if (is_back || error == ENOENT)
        return PORT_UNDO_NOTHING;
    if (error == 0 && !linux_shield_same(now, field[3]) &&
        !linux_shield_is_broken(shield, changes, now)) {
        snprintf(text, bytes,
                 "interrupt %s has the affinity %.60s now, not the %.60s that the shield set: left "
                 "alone",
                 field[1], now, field[3]);
        return PORT_UNDO_FOREIGN;
    }
    if (error == 0)
        error = put_back(shield, path, field[2], field[4]);
    if (error == 0)
        return PORT_UNDONE;
    snprintf(text, bytes, "interrupt %s could not be restored to CPUs %.60s: %s", field[1],
             field[2], strerror(error));
    return PORT_UNDO_FAILED;
}

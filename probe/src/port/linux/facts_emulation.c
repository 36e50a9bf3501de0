/* Whether the processor is emulated: QEMU translates its instructions (TCG), or runs them by KVM.
 */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static const char lab_option[] = "hardstone.lab";

static void decide(struct linux_emulation *emulation, enum linux_emulated is, const char *format,
                   ...) __attribute__((format(printf, 3, 4)));

static void decide(struct linux_emulation *emulation, enum linux_emulated is, const char *format,
                   ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(emulation->reason, sizeof emulation->reason, format, arguments);
    va_end(arguments);
    emulation->is = is;
}

static bool holds_one(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

#define HOLDS_ONE(text, words) holds_one(text, words, sizeof(words) / sizeof(words)[0])

/* QEMU's user-mode emulation answers /proc/self/exe itself, but not that of a thread. */
static bool by_user_mode(struct linux_emulation *emulation)
{
    char path[64], program[LINUX_PLACE_BYTES];
    snprintf(path, sizeof path, "/proc/self/task/%ld/exe", (long)getpid());
    if (!linux_link(path, program, sizeof program))
        return false;
    const char *name = strrchr(program, '/');
    name = name ? name + 1 : program;
    if (strncmp(name, "qemu-", 5) != 0)
        return false;
    decide(emulation, LINUX_EMULATED, "%.60s runs this process", name);
    return true;
}

/* `vendor` is that of CPUID leaf 0, `hypervisor` that of leaf 0x40000000; "": none. */
void linux_emulation_by_cpuid(const char *vendor, const char *hypervisor,
                              struct linux_emulation *emulation)
{
    static const char *const translators[] = {"VirtualApple", "MicrosoftXTA"};
    static const char *const virtualizers[] = {
        "KVMKVMKVM",   "Linux KVM Hv", "Microsoft Hv", "VMwareVMware", "XenVMMXenVMM",
        "bhyve bhyve", "VBoxVBoxVBox", "ACRNACRNACRN", "NVMMNVMM",     "HAXMHAXMHAXM",
        "Jailhouse",   "QNXQVMBSQG",   "OpenBSDVMM58", " prl hyperv",  "prl hyperv"};
    if (HOLDS_ONE(vendor, translators))
        decide(emulation, LINUX_EMULATED, "CPUID names the translator %s", vendor);
    else if (strcmp(hypervisor, "TCGTCGTCGTCG") == 0)
        decide(emulation, LINUX_EMULATED, "CPUID names QEMU's emulator, TCG");
    else if (by_user_mode(emulation))
        return;
    else if (HOLDS_ONE(hypervisor, virtualizers))
        decide(emulation, LINUX_NOT_EMULATED, "CPUID names the hypervisor %s", hypervisor);
    else if (hypervisor[0])
        decide(emulation, LINUX_EMULATED_UNKNOWN, "CPUID names an unknown hypervisor, %s",
               hypervisor);
    else
        linux_emulation_by_names(emulation);
    if (emulation->is == LINUX_EMULATED_UNKNOWN && !hypervisor[0] && !emulation->is_qemu)
        decide(emulation, LINUX_NOT_EMULATED, "CPUID names no hypervisor");
}

/* The processor "max" of QEMU's emulator: implementer 0 (reserved for software), part 'Q'. */
static bool is_emulated_arm(void)
{
    char implementer[16], part[16];
    return linux_cpuinfo("CPU implementer", implementer, sizeof implementer) &&
           linux_cpuinfo("CPU part", part, sizeof part) && strcmp(implementer, "0x00") == 0 &&
           strcmp(part, "0x051") == 0;
}

/* The device through which QEMU hands files to its guests. */
static bool has_qemu_device(void)
{
    static const char tree[] = "/proc/device-tree";
    char path[LINUX_PLACE_BYTES], text[64];
    DIR *folder = linux_open_folder(tree);
    bool is_found = false;
    struct dirent *entry;
    while (folder && !is_found && (entry = readdir(folder))) {
        snprintf(path, sizeof path, "%s/%.200s/compatible", tree, entry->d_name);
        is_found = strncmp(entry->d_name, "fw-cfg@", 7) == 0 &&
                   linux_read(path, text, sizeof text) && strcmp(text, "qemu,fw-cfg-mmio") == 0;
    }
    if (folder)
        closedir(folder);
    return is_found;
}

/* Names that the firmware gives; in a device tree only the first of several is read. */
void linux_emulation_by_names(struct linux_emulation *emulation)
{
    static const char *const kvm[] = {"KVM", "Amazon EC2", "Google"};
    static const char *const others[] = {"VMware", "Parallels", "Apple Virtualization", "Xen",
                                         "Microsoft"};
    static const char *const qemu[] = {"QEMU", "Bochs", "dummy-virt", "riscv-virtio"};
    static const char *const files[] = {"/proc/device-tree/hypervisor/compatible",
                                        "/sys/hypervisor/type", "/sys/class/dmi/id/product_name",
                                        "/sys/class/dmi/id/sys_vendor",
                                        "/proc/device-tree/compatible"};
    char text[256];
    decide(emulation, LINUX_EMULATED_UNKNOWN, "nothing names a hypervisor, and none is excluded");
    emulation->is_qemu = false;
    if (by_user_mode(emulation))
        return;
    if (is_emulated_arm()) {
        decide(emulation, LINUX_EMULATED, "the processor is QEMU's own model (part 0x051)");
        return;
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (!linux_read(files[i], text, sizeof text))
            continue;
        if (i < 2 || HOLDS_ONE(text, kvm) || HOLDS_ONE(text, others)) {
            decide(emulation, LINUX_NOT_EMULATED, "%s names the hypervisor %.60s", files[i], text);
            return;
        }
        if (HOLDS_ONE(text, qemu) && !emulation->is_qemu) {
            emulation->is_qemu = true;
            decide(emulation, LINUX_EMULATED_UNKNOWN,
                   "%s names QEMU's machine %.60s: it may be run by KVM, or emulated", files[i],
                   text);
        }
    }
    if (!emulation->is_qemu && has_qemu_device()) {
        emulation->is_qemu = true;
        decide(emulation, LINUX_EMULATED_UNKNOWN,
               "the device tree has QEMU's fw-cfg: it may be run by KVM, or emulated");
    }
}

void linux_emulation_by_lab(struct linux_emulation *emulation)
{
    char word[16];
    if (!linux_boot_option(lab_option, word, sizeof word))
        return;
    if (strcmp(word, "tcg") == 0 || strcmp(word, "icount") == 0)
        decide(emulation, LINUX_EMULATED, "the lab's boot line, %s=%s, names QEMU's emulator",
               lab_option, word);
    else if (strcmp(word, "kvm") == 0 && emulation->is != LINUX_EMULATED)
        decide(emulation, LINUX_NOT_EMULATED, "the lab's boot line, %s=%s, names KVM", lab_option,
               word);
}

bool linux_hypervisor_by_names(char *name, size_t bytes)
{
    static const char *const makers[] = {"QEMU",   "KVM",       "Amazon EC2",           "Google",
                                         "VMware", "Parallels", "Apple Virtualization", "Xen"};
    static const char *const files[] = {"/sys/class/dmi/id/sys_vendor",
                                        "/sys/class/dmi/id/product_name",
                                        "/proc/device-tree/compatible"};
    char text[256];
    if (linux_read("/sys/hypervisor/type", name, bytes) ||
        linux_read("/proc/device-tree/hypervisor/compatible", name, bytes))
        return true;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (!linux_read(files[i], text, sizeof text))
            continue;
        for (size_t j = 0; j < sizeof makers / sizeof makers[0]; j++)
            if (strstr(text, makers[j])) {
                snprintf(name, bytes, "%s", makers[j]);
                return true;
            }
        if (strstr(text, "dummy-virt") || strstr(text, "riscv-virtio")) {
            snprintf(name, bytes, "QEMU virt");
            return true;
        }
    }
    snprintf(name, bytes, "QEMU");
    return has_qemu_device();
}

void linux_emulation_facts(const struct port_fact_sink *sink,
                           const struct linux_emulation *emulation)
{
    char word[16];
    if (emulation->is == LINUX_EMULATED_UNKNOWN)
        sink->text(sink->context, "virtual.emulated", NULL);
    else
        sink->truth(sink->context, "virtual.emulated", emulation->is == LINUX_EMULATED);
    sink->text(sink->context, "virtual.emulated_reason", emulation->reason);
    bool is_counted =
        linux_boot_option(lab_option, word, sizeof word) && strcmp(word, "icount") == 0;
    sink->text(sink->context, "virtual.time", is_counted ? "instructions" : NULL);
}

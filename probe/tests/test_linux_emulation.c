/* Whether the processor is emulated, by CPUID and by the names of firmware that are made up. */
#include "base/posix_source.h"

#include "linux_machine.h"
#include "port/linux/facts.h"

#include <unistd.h>

static void names(enum linux_emulated is, const char *reason)
{
    struct linux_emulation emulation = {0};
    linux_emulation_by_names(&emulation);
    CHECK_SAME(emulation.is, is);
    CHECK_HOLDS(emulation.reason, reason);
}

static void cpuid(const char *vendor, const char *hypervisor, enum linux_emulated is,
                  const char *reason)
{
    struct linux_emulation emulation = {0};
    linux_emulation_by_cpuid(vendor, hypervisor, &emulation);
    CHECK_SAME(emulation.is, is);
    CHECK_TEXT(emulation.reason, reason);
}

/* The files of one machine: a path and its text, one after the other. */
static void look_at(const char *const *files, enum linux_emulated is, const char *reason)
{
    machine_open();
    for (int i = 0; files[i]; i += 2)
        machine_put(files[i], files[i + 1]);
    names(is, reason);
    machine_close();
}

#define LOOK_AT(is, reason, ...) look_at((const char *const[]){__VA_ARGS__, NULL}, is, reason)

static void make_user_mode(const char *program)
{
    char path[128];
    snprintf(path, sizeof path, "/proc/self/task/%ld/exe", (long)getpid());
    machine_put(path, "");
    unlink(machine_path(path));
    CHECK_SAME(symlink(program, machine_path(path)), 0);
}

MACHINE_TEST(cpuid)
{
    static const char *const known[] = {"KVMKVMKVM", "Microsoft Hv", "VMwareVMware",
                                        "XenVMMXenVMM"};
    static const char *const unknown[] = {"SomethingNew", "unnamed"};
    char reason[80];
    cpuid("GenuineIntel", "TCGTCGTCGTCG", LINUX_EMULATED, "CPUID names QEMU's emulator, TCG");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        snprintf(reason, sizeof reason, "CPUID names the hypervisor %s", known[i]);
        cpuid("AuthenticAMD", known[i], LINUX_NOT_EMULATED, reason);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        snprintf(reason, sizeof reason, "CPUID names an unknown hypervisor, %s", unknown[i]);
        cpuid("GenuineIntel", unknown[i], LINUX_EMULATED_UNKNOWN, reason);
    }
    cpuid("VirtualApple", "", LINUX_EMULATED, "CPUID names the translator VirtualApple");
    cpuid("GenuineIntel", "", LINUX_NOT_EMULATED, "CPUID names no hypervisor");
}

/* QEMU can hide the flag of a hypervisor. */
MACHINE_TEST(cpuid_that_hides_the_hypervisor)
{
    machine_put("/sys/class/dmi/id/sys_vendor", "QEMU\n");
    cpuid("GenuineIntel", "", LINUX_EMULATED_UNKNOWN,
          "/sys/class/dmi/id/sys_vendor names QEMU's machine QEMU: it may be run by KVM, or "
          "emulated");
    cpuid("GenuineIntel", "KVMKVMKVM", LINUX_NOT_EMULATED, "CPUID names the hypervisor KVMKVMKVM");
}

MACHINE_TEST(user_mode)
{
    make_user_mode("/usr/bin/qemu-aarch64-static");
    names(LINUX_EMULATED, "qemu-aarch64-static runs this process");
    cpuid("GenuineIntel", "", LINUX_EMULATED, "qemu-aarch64-static runs this process");
    make_user_mode("/usr/bin/hardstone-probe");
    names(LINUX_EMULATED_UNKNOWN, "nothing names a hypervisor");
}

#define DMI "/sys/class/dmi/id/"
#define TREE "/proc/device-tree/"
#define CPU(implementer, part)                                                                     \
    "/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: " implementer "\nCPU part\t: " part "\n"

TEST(names)
{
    LOOK_AT(LINUX_NOT_EMULATED, "names the hypervisor linux,kvm", TREE "hypervisor/compatible",
            "linux,kvm", TREE "compatible", "linux,dummy-virt");
    LOOK_AT(LINUX_NOT_EMULATED, "names the hypervisor xen", TREE "hypervisor/compatible", "xen");
    LOOK_AT(LINUX_NOT_EMULATED, "/sys/hypervisor/type names the hypervisor xen",
            "/sys/hypervisor/type", "xen\n");
    LOOK_AT(LINUX_NOT_EMULATED, "names the hypervisor KVM Virtual Machine", DMI "sys_vendor",
            "QEMU\n", DMI "product_name", "KVM Virtual Machine\n");
    LOOK_AT(LINUX_NOT_EMULATED, "names the hypervisor VMware, Inc.", DMI "sys_vendor",
            "VMware, Inc.\n");
    LOOK_AT(LINUX_EMULATED_UNKNOWN, "QEMU Virtual Machine: it may be run by KVM, or emulated",
            DMI "sys_vendor", "QEMU\n", DMI "product_name", "QEMU Virtual Machine\n");
    LOOK_AT(LINUX_EMULATED_UNKNOWN, "linux,dummy-virt: it may be", TREE "compatible",
            "linux,dummy-virt");
    LOOK_AT(LINUX_EMULATED_UNKNOWN, "riscv-virtio: it may be", TREE "compatible", "riscv-virtio");
    LOOK_AT(LINUX_EMULATED_UNKNOWN, "nothing names a hypervisor, and none is excluded",
            TREE "compatible", "raspberrypi,4-model-b");
    LOOK_AT(LINUX_EMULATED, "the processor is QEMU's own model", CPU("0x00", "0x051"),
            TREE "compatible", "linux,dummy-virt");
    LOOK_AT(LINUX_EMULATED_UNKNOWN, "it may be run by KVM", CPU("0x41", "0xd07"), TREE "compatible",
            "linux,dummy-virt");
}

static void lab(const char *line, enum linux_emulated before, enum linux_emulated after)
{
    struct linux_emulation emulation = {before, false, "as before"};
    machine_put("/proc/cmdline", line);
    linux_emulation_by_lab(&emulation);
    CHECK_SAME(emulation.is, after);
    if (before != after)
        CHECK_HOLDS(emulation.reason, "hardstone.lab=");
}

MACHINE_TEST(the_word_of_the_lab)
{
    lab("quiet hardstone.lab=tcg\n", LINUX_EMULATED_UNKNOWN, LINUX_EMULATED);
    lab("hardstone.lab=icount nokaslr\n", LINUX_EMULATED_UNKNOWN, LINUX_EMULATED);
    lab("hardstone.lab=tcg\n", LINUX_NOT_EMULATED, LINUX_EMULATED);
    lab("hardstone.lab=kvm\n", LINUX_EMULATED_UNKNOWN, LINUX_NOT_EMULATED);
    lab("hardstone.lab=kvm\n", LINUX_EMULATED, LINUX_EMULATED);
    lab("hardstone.lab=other\n", LINUX_EMULATED_UNKNOWN, LINUX_EMULATED_UNKNOWN);
    lab("quiet xhardstone.lab=tcg -- hardstone.lab=tcg\n", LINUX_EMULATED_UNKNOWN,
        LINUX_EMULATED_UNKNOWN);
}

TEST(names_of_hypervisors)
{
    static const char *const rows[][3] = {
        {"/sys/hypervisor/type", "xen\n", "xen"},
        {TREE "hypervisor/compatible", "linux,kvm", "linux,kvm"},
        {DMI "sys_vendor", "QEMU\n", "QEMU"},
        {TREE "compatible", "linux,dummy-virt", "QEMU virt"},
        {TREE "fw-cfg@9020000/compatible", "qemu,fw-cfg-mmio", "QEMU"},
        {TREE "fw-cfg@9020000/compatible", "other,fw-cfg", ""},
        {TREE "compatible", "raspberrypi,4-model-b", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char found[64] = "";
        tap_row(rows[i][1]);
        machine_open();
        machine_put(rows[i][0], rows[i][1]);
        CHECK_SAME(linux_hypervisor_by_names(found, sizeof found), *rows[i][2] != '\0');
        if (*rows[i][2])
            CHECK_TEXT(found, rows[i][2]);
        machine_close();
    }
    LOOK_AT(LINUX_EMULATED_UNKNOWN, "QEMU's fw-cfg: it may be run by KVM, or emulated",
            TREE "fw-cfg@9020000/compatible", "qemu,fw-cfg-mmio");
}

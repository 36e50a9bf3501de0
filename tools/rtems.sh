#!/bin/sh
# Builds RTEMS for the riscv64 machine of QEMU, and the probe on it, without RTEMS's own toolchain.
#
#   tools/rtems.sh RTEMS NEWLIB FOLDER
#
# RTEMS and NEWLIB are git checkouts (a clone may lack large files that are not needed here); all
# that is made goes to FOLDER. Debian: gcc-riscv64-unknown-elf, meson, ninja-build, git, python3.
# The compiler for bare metal stands for riscv-rtems7-gcc: a script adds what gcc's configuration
# for RTEMS adds.
set -eu

if [ $# -ne 3 ]; then
    sed -n '4p' "$0" >&2
    exit 2
fi
rtems=$(readlink -f "$1") newlib=$(readlink -f "$2")
mkdir -p "$3"
out=$(readlink -f "$3")
probe=$(dirname "$(dirname "$(readlink -f "$0")")")/probe
target=riscv-rtems7 bsp=rv64imafdc
machine="'-march=rv64imafdc', '-mabi=lp64d', '-mcmodel=medany'"
export PATH="$out/bin:$PATH"

# ---- a compiler ----
mkdir -p "$out/bin" "$out/$target/include" "$out/$target/limits" "$out/$target/lib"
for tool in ar as ld nm objcopy objdump ranlib size strip; do
    ln -sf "$(command -v riscv64-unknown-elf-$tool)" "$out/bin/$target-$tool"
done
cat > "$out/$target/rtems.specs" <<'SPECS'
*startfile:
crti%O%s crtbegin%O%s

*endfile:
crtend%O%s crtn%O%s

*lib:
-T linkcmds%s --start-group -lrtemsbsp -lrtemsdefaultconfig -lrtemscpu -latomic -lc -lgcc --end-group

*link_gcc_c_sequence:
%(lib)

SPECS
cat > "$out/bin/$target-gcc" <<'GCC'
#!/bin/sh
here=$(dirname "$(dirname "$(readlink -f "$0")")")/riscv-rtems7 specs=
for one; do
    shift
    case $one in
        -qrtems) specs=-specs=$here/rtems.specs ;;
        -pthread) ;;
        *) set -- "$@" "$one" ;;
    esac
done
exec riscv64-unknown-elf-gcc $specs -D__rtems__ -D__USE_INIT_FINI__ -isystem "$here/limits" \
    -idirafter "$here/include" "-L$here/lib" "$@"
GCC
chmod +x "$out/bin/$target-gcc"
ln -sf "$target-gcc" "$out/bin/$target-g++" # asked for, not used

# ---- newlib ----
if [ ! -f "$out/$target/lib/libc.a" ]; then
    rm -rf "$out/newlib"
    git clone -q --shared --no-checkout "$newlib" "$out/newlib"
    cd "$out/newlib"
    git sparse-checkout init --no-cone
    printf '/*\n!/winsup/\n!/newlib/Makefile.in\n' > .git/info/sparse-checkout
    git checkout -q
    cd newlib # its Makefile.in has 7 MB: made anew (Debian: automake, autoconf2.69)
    export AUTOCONF=autoconf2.69 AUTOM4TE=autom4te2.69
    aclocal -I . -I .. -I ../config
    automake --foreign 2> "$out/automake.log"
    autoconf2.69
    mkdir -p "$out/build-newlib"
    cd "$out/build-newlib"
    CC="$target-gcc -isystem $PWD/targ-include -isystem $out/newlib/newlib/libc/include" \
        CFLAGS='-O2 -g -mcmodel=medany -ffunction-sections -fdata-sections' \
        "$out/newlib/newlib/configure" --host=$target --target=$target \
        --build=x86_64-linux-gnu --prefix="$out" --disable-multilib \
        --enable-newlib-io-c99-formats --enable-newlib-io-long-long --enable-newlib-mb \
        > configure.log 2>&1
    sed -i '/^MATHOBJS_IN_LIBC/,/[^\\]$/s/libm_a-/a-/g' Makefile # names of the newer automake
    make > make.log 2>&1
    make install > install.log 2>&1
    cp "$out/$target/include/limits.h" "$out/$target/limits/" # before the compiler's own
    : > empty.c
    $target-gcc -c empty.c
    $target-ar rc "$out/$target/lib/libatomic.a" empty.o
fi

# ---- RTEMS ----
libraries=$out/bsp/$target/$bsp/lib
if [ ! -f "$libraries/librtemscpu.a" ]; then
    rm -rf "$out/rtems"
    git clone -q --shared --no-checkout "$rtems" "$out/rtems"
    cd "$out/rtems"
    git sparse-checkout init --no-cone
    printf '/*\n!/testsuites/\n!/bsps/arm/imxrt/mcux-sdk/\n' > .git/info/sparse-checkout
    git checkout -q
    # C++ and the coverage of tests need libraries that are not here.
    sed -i 's/^enabled-by: true$/enabled-by: false/' spec/build/cpukit/librtemscxx.yml \
        spec/build/cpukit/librtemstest.yml
    cat > config.ini <<INI
[riscv/$bsp]
RTEMS_POSIX_API = True
CC_STD_VERSION_FLAGS = -std=gnu2x -D_BSD_SOURCE
BUILD_TESTS = False
BUILD_SAMPLES = False
BUILD_LIBTESTS = False
INI
    ./waf configure --prefix="$out/bsp" --rtems-tools="$out" > "$out/configure.log" 2>&1
    ./waf build install > "$out/rtems.log" 2>&1
fi

# ---- the probe ----
# A thread that holds a spin lock of RTEMS may not make another one ready: the system ends. mlock
# always fails there, although all memory is resident.
lacks="'-DHS_HAS_SPIN_LOCKS=0', '-DHS_HAS_MEMLOCK_RANGE=0'"
cat > "$out/cross.ini" <<INI
[binaries]
c = '$out/bin/$target-gcc'
ar = '$out/bin/$target-ar'
strip = '$out/bin/$target-strip'
[built-in options]
c_args = ['-B$libraries', '-isystem', '$libraries/include', $machine, $lacks]
c_link_args = ['-qrtems', '-B$libraries', $machine, '-Wl,--no-warn-rwx-segments']
[host_machine]
system = 'rtems'
cpu_family = 'riscv64'
cpu = '$bsp'
endian = 'little'
INI
rm -rf "$out/probe"
meson setup "$out/probe" "$probe" --cross-file "$out/cross.ini" -Dload=false -Dshield=false \
    > "$out/meson.log"
ninja -C "$out/probe" hardstone-probe > "$out/ninja.log"
echo "$out/probe/hardstone-probe"

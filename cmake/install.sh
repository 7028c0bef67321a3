# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of ./rungs
# install.sh - what ./rungs installs: Debian and Ubuntu packages, the Python environment, the CUDA toolkit. Sourced by ./rungs, which has
# the variables root, build, python, cuda, log, preset and purpose and the functions say, cannot, phase, quietly and explain_log.

hash_of() { cat "$@" | sha256sum | cut -c1-32; }

# ---- Debian and Ubuntu packages.
has_header() {
    local folder
    for folder in /usr/include /usr/local/include "/usr/include/$(uname -m)-linux-gnu"; do
        if [ -e "$folder/$1" ]; then return 0; fi
    done
    return 1
}
has_sanitizers() { # the runtime that -fsanitize=address links, of the very clang that is on PATH
    local resources
    resources=$(clang -print-resource-dir 2>/dev/null) || return 1
    [ -n "$(find "$resources/lib" -name 'libclang_rt.asan*.a' -print -quit 2>/dev/null)" ]
}
has_venv() { python3 -c 'import ensurepip, venv' 2>/dev/null; }

# Fills `missing` (nothing works without) and `wanted` (emulator, figures, sandbox; for the tests: layout and an export's reader).
missing=() wanted=() without_emulator=''
look_for_packages() {
    missing=() wanted=() without_emulator=''
    local pair
    for pair in gcc:gcc g++:g++ cmake:cmake ninja:ninja-build pkg-config:pkg-config python3:python3; do
        command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
    done
    if [ -z "${RUNGS_SYSTEM_PYTHON:-}${RUNGS_PYTHON:-}" ] && [ ! -x "$python/bin/python" ]; then has_venv || missing+=(python3-venv); fi
    for pair in benchmark/benchmark.h:libbenchmark-dev jansson.h:libjansson-dev yaml.h:libyaml-dev; do
        has_header "${pair%%:*}" || missing+=("${pair#*:}")
    done
    if ! command -v clang >/dev/null; then wanted+=(clang) without_emulator=1; fi
    if ! has_sanitizers; then wanted+=("$(sanitizer_package)") without_emulator=1; fi
    for pair in gnuplot:gnuplot-nox git:git bwrap:bubblewrap; do
        command -v "${pair%%:*}" >/dev/null || wanted+=("${pair#*:}")
    done
    if [ "$purpose" != tests ]; then return; fi
    for pair in mpfr.h:libmpfr-dev cmocka.h:libcmocka-dev; do
        has_header "${pair%%:*}" || missing+=("${pair#*:}")
    done
    for pair in clang-format:clang-format make:make; do
        command -v "${pair%%:*}" >/dev/null || wanted+=("${pair#*:}")
    done
    [ -e /usr/share/benchmark/compare.py ] || wanted+=(libbenchmark-tools)
}
# Debian and Ubuntu have libclang-rt-dev beside clang; where only the numbered package exists, the number is that of clang.
sanitizer_package() {
    local number
    if command -v apt-cache >/dev/null && ! apt-cache show libclang-rt-dev >/dev/null 2>&1; then
        number=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]\+\)$/\1/p' | head -n 1)
        if [ -n "$number" ]; then
            echo "libclang-rt-$number-dev"
            return
        fi
    fi
    echo libclang-rt-dev
}

# Prints why packages cannot be installed here; nothing if they can.
why_not_root() {
    if ! command -v apt-get >/dev/null; then
        echo "apt-get not found; this script supports Debian and Ubuntu"
    elif [ "$(id -u)" = 0 ]; then
        return
    elif ! command -v sudo >/dev/null; then
        echo "you are not root and there is no sudo"
    elif [ -t 0 ] && [ -t 2 ]; then
        sudo true || echo "sudo refused"
    elif ! sudo -n true 2>/dev/null; then
        echo "sudo asks for a password and there is no terminal to ask on: start ./rungs once in a terminal"
    fi
}
install_packages() {
    if [ $((${#missing[@]} + ${#wanted[@]})) = 0 ]; then return 0; fi
    local as_root=() failure all
    failure=$(why_not_root)
    if [ -z "$failure" ]; then
        if [ "$(id -u)" != 0 ]; then as_root=(sudo -n); fi
        as_root+=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y)
        phase "reading Debian's package lists"
        quietly "${as_root[@]}" update || true # an old list may do; if not, the next line fails and says why
        look_for_packages # with the new lists: they decide the sanitizer package's name
        phase "installing Debian packages"
        quietly "${as_root[@]}" install --no-install-recommends "${missing[@]}" "${wanted[@]}" ||
            failure="apt-get could not install them: $(grep '^E:' "$log" | tail -n 1)"
        look_for_packages
    fi
    if [ $((${#missing[@]} + ${#wanted[@]})) = 0 ]; then return 0; fi
    all="${missing[*]} ${wanted[*]}"
    all=${all# }
    say "missing: ${all% }${failure:+ ($failure)}"
    say "install with: apt-get update && apt-get install --no-install-recommends $all"
    if [ ${#missing[@]} != 0 ] || [ -z "${RUNGS_ALLOW_MISSING:-}" ]; then exit 4; fi
    say "continuing without ${wanted[*]} (RUNGS_ALLOW_MISSING)${without_emulator:+; no emulator}"
}

# ---- The Python environment: whole once its stamp is written; without one it is made again.
needs_python() {
    if [ -n "${RUNGS_PYTHON:-}" ]; then return 1; fi
    python_stamp="$(hash_of "$root/requirements.txt") $(command -v python3) ${RUNGS_SYSTEM_PYTHON:-}"
    [ "$(cat "$python/.stamp" 2>/dev/null)" != "$python_stamp" ] || [ ! -x "$python/bin/python" ]
}
make_venv() {
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        cannot "python3 is $(python3 -V 2>&1); 3.11 or newer is needed: install it, or name one with RUNGS_PYTHON"
    rm -rf "$python"
    if [ -n "${RUNGS_SYSTEM_PYTHON:-}" ]; then
        # Not a venv: python3 may live in one itself, whose packages a new one with --system-site-packages would not see.
        mkdir -p "$python/bin"
        # shellcheck disable=SC2016 # "$@" is for the script that this writes
        printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v python3)" >"$python/bin/python"
        chmod +x "$python/bin/python"
        return
    fi
    phase "making the Python environment"
    local later='' # pip takes seconds to come: fill_venv() fetches it, unless the toolkit or CUB is to be fetched by it now
    if find_nvcc && ! has_gpu; then later=--without-pip; fi
    quietly python3 -m venv ${later:+"$later"} "$python" || {
        explain_log
        rm -rf "$python"
        cannot "the Python environment build/python could not be made"
    }
}
pip_install() { quietly "${RUNGS_PYTHON:-$python/bin/python}" -m pip install --no-input --disable-pip-version-check --no-compile "$@"; }
# Compiled once: a worker, which writes to no file, would compile all that it imports at each of its starts.
compile_packages() { quietly "$python/bin/python" -m compileall -q -j 0 "$python"/lib/python3*/site-packages || true; } # templates are no Python
fill_venv() { # in the background, with a log of its own and nothing on the terminal; descriptor 8 is the lock that others wait for
    local log=$root/build/python.log silent=1
    renice -n 10 "$BASHPID" >/dev/null 2>&1 || true # the build, and rows that need no packages, come first
    flock 8
    if [ -z "${RUNGS_SYSTEM_PYTHON:-}" ]; then
        phase "installing Python packages"
        if ! quietly "$python/bin/python" -m ensurepip || ! pip_install -r "$root/requirements.txt"; then
            explain_log
            rm -rf "$python"
            cannot "the packages of requirements.txt could not be installed. Try again with a network (PyPI), or use" \
                "a Python that has them: RUNGS_SYSTEM_PYTHON=1 (the python3 on PATH) or RUNGS_PYTHON=PATH"
        fi
        compile_packages
    fi
    needs_python || true # sets python_stamp
    printf '%s' "$python_stamp" >"$python/.stamp"
}

# Some packages can be done without: a failure is a warning, remembered in the stamp until what they depend on changes.
install_optional() { # STAMP DEPENDS-ON TITLE WHAT-IS-LOST pip's arguments...
    local mark=$1 want=$2 lost=$4 found=''
    phase "$3"
    shift 4
    if [ -f "$mark" ]; then found=$(<"$mark"); fi
    if [ "${found% failed}" = "$want" ]; then return; fi
    if pip_install "$@"; then
        compile_packages
        printf '%s' "$want" >"$mark"
    else
        say "warning: $title failed, so $lost: $(grep -i 'error' "$log" | tail -n 1)"
        say "to try again: rm ${mark#"$root/"}"
        printf '%s failed' "$want" >"$mark"
    fi
}
own_python() { [ -z "${RUNGS_PYTHON:-}${RUNGS_SYSTEM_PYTHON:-}" ]; }
has_gpu() { nvidia-smi -L >/dev/null 2>&1; }
add_test_packages() {
    if [ "$purpose" != tests ] || ! own_python; then return; fi
    install_optional "$python/.tests" "$(hash_of "$root/requirements.txt" "$root/requirements-tests.txt")" \
        "installing the tests' Python packages" "tests/scripts cannot be run (pytest)" -r "$root/requirements.txt" -r "$root/requirements-tests.txt"
}
add_gpu_libraries() {
    if ! own_python || ! has_gpu; then return; fi
    install_optional "$python/.gpu" "$(hash_of "$root/requirements.txt" "$root/requirements-gpu.txt")" \
        "installing the GPU libraries to compare with" "their rows will be skip" -r "$root/requirements.txt" -r "$root/requirements-gpu.txt"
}
# The published library of discounted_cumsum comes as source alone: compiled against that PyTorch, by the nvcc that compiles the variants.
add_compiled_libraries() {
    if [ -z "$nvcc" ] || [ ! -f "$python/.gpu" ] || [[ $(<"$python/.gpu") == *failed ]]; then return; fi
    CUDA_HOME=$(dirname "$(dirname "$(readlink -f "$nvcc")")") install_optional "$python/.compiled" \
        "$(<"$python/.gpu") $(hash_of "$root/requirements-compiled.txt") $(readlink -f "$nvcc")" \
        "compiling torch-discounted-cumsum" "its rows will be skip" --no-build-isolation --no-deps -r "$root/requirements-compiled.txt"
}

# ---- nvcc that knows C++20, that is of CUDA 12 or newer: on PATH, in /usr/local/cuda, or from PyPI in build/cuda.
nvcc=
usable_nvcc() {
    local release
    release=$("$1" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\..*/\1/p') || return 1
    [ "${release:-0}" -ge 12 ]
}
find_nvcc() { # fails where the toolkit has to be fetched
    local candidate
    nvcc=
    if [ "$preset" = cpu-only ]; then return; fi
    for candidate in "$(command -v nvcc || true)" "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" /usr/local/cuda/bin/nvcc; do
        if [ -x "$candidate" ] && usable_nvcc "$candidate"; then
            nvcc=$candidate
            return
        fi
    done
    nvcc=$cuda/bin/nvcc
    [ -x "$nvcc" ] && [ "$(cat "$cuda/.stamp" 2>/dev/null)" = "$(hash_of "$root/requirements-cuda.txt")" ]
}
fetch_cuda() {
    local draft=$cuda.draft library base
    phase "fetching the CUDA toolkit"
    rm -rf "$draft" "$cuda"
    pip_install --no-deps --target "$draft" -r "$root/requirements-cuda.txt" || {
        explain_log
        rm -rf "$draft"
        cannot "nvcc is missing (CUDA 12 or newer) and could not be fetched from PyPI. Put nvcc on PATH, install CUDA into" \
            "/usr/local/cuda, or build without CUDA: RUNGS_PRESET=cpu-only ./rungs ..."
    }
    # The wheels have lib where nvcc.profile looks for lib64, and only the versioned names that the linker does not look for.
    ln -s lib "$draft/nvidia/cu13/lib64"
    for library in "$draft"/nvidia/cu13/lib/lib*.so.*; do
        base=$(basename "$library")
        if [ ! -e "${library%%.so.*}.so" ]; then ln -s "$base" "${library%%.so.*}.so"; fi
    done
    hash_of "$root/requirements-cuda.txt" >"$draft/nvidia/cu13/.stamp"
    mv "$draft/nvidia/cu13" "$cuda"
    rm -rf "$draft"
}

# CUB as its authors release it now, for its rows; without, they are of the toolkit's, which is older.
fetch_cub() {
    local want
    want=$(hash_of "$root/requirements-cub.txt")
    if ! has_gpu || [ "$(cat "$cub/.stamp" 2>/dev/null)" = "$want" ]; then return; fi
    phase "fetching CUB"
    rm -rf "$cub"
    if pip_install --no-deps --target "$cub" -r "$root/requirements-cub.txt"; then
        printf '%s' "$want" >"$cub/.stamp"
    else
        say "warning: CUB could not be fetched from PyPI, so its rows will be of the CUDA toolkit's: $(grep -i 'error' "$log" | tail -n 1)"
        rm -rf "$cub"
    fi
}

# ---- What a first start will do, before it does anything.
tell_first_start() {
    local list=("${missing[@]}" "${wanted[@]}") fetched=''
    find_nvcc || fetched=1
    if [ ${#list[@]} = 0 ] && [ -z "$fetched" ] && ! needs_python; then return; fi
    say "installing what is missing on this machine (sizes and times on two cores; log: ${log#"$root/"}):"
    if [ ${#list[@]} != 0 ]; then say "    Debian packages, up to 1 GB, 1 minute: ${list[*]}"; fi
    if needs_python && own_python; then say "    Python packages into build/python, 0.8 GB, 1 minute"; fi
    if [ -n "$fetched" ]; then say "    the CUDA 13.0 toolkit from PyPI into build/cuda, 0.6 GB, 1 minute (no nvcc of CUDA 12 or newer here)"; fi
    if own_python && [ ! -f "$python/.gpu" ] && has_gpu; then say "    PyTorch, CuPy, Numba and JAX to compare with, 8 GB, 4 minutes"; fi
    if [ "$purpose" = tests ]; then
        say "    the program and the tests into ${build#"$root/"}, 0.7 GB, 10 minutes; 3 if the program is there"
    else
        say "    the program into ${build#"$root/"}, 0.4 GB, $(if has_gpu; then echo 6; else echo 3; fi) minutes"
    fi
}


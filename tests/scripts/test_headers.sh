#!/usr/bin/env bash
# Every header compiles alone and can be included twice: C headers as C17 under the project's warnings; those that .cu files or the C++
# shim see (they have `__BEGIN_DECLS`) also as C++20; kernel headers as the emulator compiles them, so that no GPU toolkit's compiler is needed.
set -euo pipefail
cd "${RUNGS_SOURCE:?}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
common=(-D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -fopenmp -fsyntax-only
    -Iharness -Iimpls -I.)
as_c=("${CC:-cc}" -x c -std=c17 -Wall -Wextra -Wconversion -Wshadow -Werror "${common[@]}")
as_cpp=("${CXX:-c++}" -x c++ -std=c++20 -Wall -Wextra -Wshadow -Werror "${common[@]}")
# The CUDA toolkit's headers, for the types of its runtime; found as CMake found them.
cuda=$(sed -n 's/^RUNGS_CUDA_HEADERS:PATH=//p' "${RUNGS_BUILD:-build/release}/CMakeCache.txt" 2>/dev/null || true)
as_variant=("${as_c[@]}" -march=native) # as CPU variants are compiled
as_kernel=("${CXX:-c++}" -x c++ -std=c++20 -Wall -Wextra -Wno-unused-function -Wno-missing-field-initializers -Wno-unknown-pragmas -DRUNGS_EMULATED
    "${common[@]}" -Iemulator/include -isystem "${cuda:-/usr/local/cuda/include}")

passed=0 failed=0 skipped=0
check() { # HOW HEADER COMMAND...
    local how=$1 header=$2
    shift 2
    printf '#include "%s"\n#include "%s"\n' "$PWD/$header" "$PWD/$header" >"$work/alone.c"
    if "$@" "$work/alone.c" >"$work/messages" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL: $header does not compile alone as $how"
        head -n 5 "$work/messages"
    fi
}

# No headers of their own but parts of what includes them: the emulator's cuda.h, loops compiled once per precision.
declare -A parts=(
    [emulator/cuda_math.h]=emulator/cuda.h
    [emulator/cuda_sync.h]=emulator/cuda.h
    [emulator/cuda_program.h]=cmake/program.py
    [emulator/cuda_program_cccl.h]=cmake/program.py
    [emulator/cuda_program_ptx.h]=emulator/cuda_program.h
    [emulator/cuda_program_math.h]=emulator/cuda_program.h
    [impls/rolling/_best_long.h]=impls/rolling/_best_f64.c
    [impls/rolling/_best_moments.h]=impls/rolling/_best_f64.c
    [impls/rolling/_best_short.h]=impls/rolling/_best_f64.c
)
is_part() {
    if [ -z "${parts[$1]:-}" ]; then return 1; fi
    if ! grep -q "$(basename "$1")" "${parts[$1]}"; then
        failed=$((failed + 1))
        echo "FAIL: $1 is excepted as a part of ${parts[$1]}, which does not name it"
    fi
}

check_all() { # HEADER...
    local header
    for header in "$@"; do
        if is_part "$header"; then continue; fi
        case $header in
        *.cuh | harness/kernel.h | harness/measure/gpu_queue.h | emulator/cuda*.h | emulator/include/*)
            if [ -e "${cuda:-/usr/local/cuda/include}/cuda_runtime.h" ]; then
                check "a kernel header" "$header" "${as_kernel[@]}"
            else
                skipped=$((skipped + 1))
            fi
            ;;
        impls/*) check "C of a variant" "$header" "${as_variant[@]}" ;;
        *)
            check C "$header" "${as_c[@]}"
            if grep -q '__BEGIN_DECLS' "$header"; then check C++ "$header" "${as_cpp[@]}"; fi
            ;;
        esac
    done
}

# The check itself must be able to fail.
mkdir -p "$work/harness"
printf 'size_t incomplete(void);\n' >"$work/harness/planted.h"
(cd "$work" && check_all harness/planted.h && [ "$failed" = 1 ]) >"$work/planted" || {
    echo "FAIL: a header that does not compile alone was not noticed"
    exit 1
}

mapfile -t headers < <(find harness emulator impls reference \( -name '*.h' -o -name '*.cuh' \) | sort)
check_all "${headers[@]}"
echo "headers: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]

#!/usr/bin/env bash
# The layout is what clang-format and ruff make of it. Only with the versions that the layout was decided with: others differ in details.
set -euo pipefail
cd "${RUNGS_SOURCE:?}"

decided=14
for candidate in "clang-format-$decided" clang-format; do
    if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q "version $decided\."; then
        formatter=$candidate
        break
    fi
done
if [ -z "${formatter:-}" ]; then
    echo "SKIP: clang-format $decided is not installed"
    exit 77
fi
ruff=("$RUNGS_SOURCE/cmake/python" -m ruff)
if ! "${ruff[@]}" --version >/dev/null 2>&1; then
    echo "SKIP: ruff (requirements-tests.txt) is not installed"
    exit 77
fi

# The check itself must be able to fail.
if printf 'x = [1,2]\n' | "${ruff[@]}" format --diff - >/dev/null 2>&1; then
    echo "FAIL: a badly laid out line of Python was not noticed"
    exit 1
fi
if printf 'int  f( void );\n' | "$formatter" --assume-filename=planted.c --dry-run -Werror 2>/dev/null; then
    echo "FAIL: a badly laid out line was not noticed"
    exit 1
fi

mapfile -t files < <(find harness emulator impls reference tests \( -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) | sort)
failed=0
if ! "$formatter" --dry-run -Werror "${files[@]}" >/dev/null 2>&1; then # all at once: starting it takes most of the time
    for file in "${files[@]}"; do
        if ! "$formatter" --dry-run -Werror "$file" 2>/dev/null; then
            echo "FAIL: $file: clang-format -i $file"
            failed=$((failed + 1))
        fi
    done
    if [ "$failed" = 0 ]; then
        echo "FAIL: $formatter fails on all files together and on none alone"
        exit 1
    fi
fi
if ! "${ruff[@]}" format --quiet --diff --exclude build .; then
    echo "FAIL: Python: ruff format"
    failed=$((failed + 1))
fi
echo "format: $((${#files[@]} - failed)) passed, $failed failed"
[ "$failed" = 0 ]

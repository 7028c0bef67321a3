#!/usr/bin/env bash
# Builds the program at a commit, in a worktree of its own, and prints the program's path; for `rungs ab --base`.
# usage: cmake/build_ref.sh COMMIT FOLDER BUILD     compilers and architectures are those of the build folder BUILD
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
ref=$1 folder=$2 own=$3
git() { command git -C "$root" -c safe.directory='*' "$@"; }

commit=$(git rev-parse --verify --quiet --end-of-options "$ref^{commit}") || {
    echo "'$ref' is no commit of this repository"
    exit 2
}
tree=$folder/${commit:0:12}
log=$tree.log
mkdir -p "$folder"
exec 9>"$tree.lock"
flock 9 # two of us at once would build into the same folder
step() { # quietly, but for the end of what went wrong
    "$@" >>"$log" 2>&1 || {
        echo "$ref (${commit:0:12}) cannot be built: $1 $2 ... failed; the end of $log:"
        tail -n 15 "$log"
        exit 4
    }
}
: >"$log"
if [ ! -e "$tree.whole" ] || [ ! -e "$tree/.git" ]; then # a checkout that was cut off is made anew
    rm -rf "$tree" "$tree.whole"
    step git worktree prune
    step git worktree add --detach "$tree" "$commit"
    touch "$tree.whole"
fi
options=(-DRUNGS_TESTS=OFF -DRUNGS_EMULATOR=OFF) # what is compared is times: no emulator, no tests
for name in RUNGS_CUDA RUNGS_CUDA_ARCHITECTURES RUNGS_CPU_ARCHITECTURE CMAKE_C_COMPILER CMAKE_CXX_COMPILER CMAKE_CUDA_COMPILER; do
    value=$(sed -n "s/^$name:[A-Z]*=//p" "$own/CMakeCache.txt")
    if [ -n "$value" ]; then options+=("-D$name=$value"); fi
done
step cmake --preset release -S "$tree" -B "$tree/build/release" "${options[@]}"
step cmake --build "$tree/build/release" --target rungs
echo "$tree/build/release/bin/rungs"

#!/usr/bin/env bash
# Builds the program at a commit, in a worktree of its own, and prints the program's path; for `rungs ab --base`.
# usage: cmake/build_ref.sh PROJECT NAME COMMIT FOLDER BUILD
# PROJECT is the folder with the repository, NAME the name given to rungs_add_project; compilers, architectures and the rungs that the
# project is built with are those of the build folder BUILD.
# Exit codes: 0; 1 the commit does not compile; 2 usage; 4 the machine cannot build it.
# FOLDER keeps the last $RUNGS_AB_BUILDS (4) builds by use; one whose program somebody holds a lock on (flock) is in use and stays.
set -euo pipefail
root=$1 name=$2 ref=$3 folder=$4 own=$5 kept=${RUNGS_AB_BUILDS:-4}
git() { command git -C "$root" -c safe.directory='*' -c core.fsmonitor=false -c core.hooksPath=/dev/null "$@"; }

[[ $kept =~ ^[1-9][0-9]*$ ]] || {
    echo "RUNGS_AB_BUILDS=$kept: expected a number of at least 1"
    exit 2
}
commit=$(git rev-parse --verify --quiet --end-of-options "$ref^{commit}") || {
    echo "'$ref' is not a commit of this repository"
    exit 2
}
tree=$folder/${commit:0:12}
log=$tree.log
program=build/release/bin/$name
mkdir -p "$folder"
while exec 9>"$tree.lock" && flock 9 && [ ! "$tree.lock" -ef /proc/self/fd/9 ]; do :; done # again if it was removed while we waited
touch "$tree.lock"                                                                          # its time is that of the last use
step() { # quietly, but for the end of what went wrong
    "$@" >>"$log" 2>&1 || {
        echo "$ref (${commit:0:12}) cannot be built: $1 $2 ... failed; the end of $log:"
        tail -n 15 "$log"
        exit 4
    }
}
first_error() { # of the log, in one line: CMake's text stands below its place; a step that says no `error:` has its first line, after ninja's two
    awk '!said && at && NF { sub(/^ +/, ""); said = at " " $0 }
         !said && !at && /CMake Error/ { at = $0 }
         !said && !at && /(^|[ :])([Ee]rror|ERROR)( [A-Z0-9]+)?:|undefined reference|: not found/ { said = $0 }
         /^FAILED: / { skip = NR + 1 }
         skip && NR == skip + 1 && !step { step = $0 }
         END { print said ? said : step ? step : $0 }' "$log"
}
make_it() { # what the commit itself can do wrong: its first error in one line, and exit code 1
    "$@" >>"$log" 2>&1 && return
    if grep -qE 'No space left on device|Cannot allocate memory|[Oo]ut of memory|Killed' "$log"; then step false "$@"; fi
    echo "${commit:0:12} does not compile: $(first_error); the log is $log"
    exit 1
}

# Commits of pull requests are met once, and a build with CUDA is large.
remove_old() {
    local lock old
    find "$folder" -maxdepth 1 -name '*.lock' -printf '%T@ %p\n' | sort -rn | tail -n +$((kept + 1)) | cut -d' ' -f2- | while IFS= read -r lock; do
        old=${lock%.lock}
        (
            flock -n 8 || exit 0 # it is being built
            if [ -e "$old/$program" ]; then
                exec 7<"$old/$program"
                flock -n 7 || exit 0 # it is being measured
            fi
            rm -rf "$old" "$old".{whole,log,lock}
        ) 8>>"$lock"
    done
    git worktree prune
}

: >"$log"
remove_old >>"$log" 2>&1 || true # what cannot be removed is no reason not to build
if [ ! -e "$tree.whole" ] || [ ! -e "$tree/.git" ]; then # a checkout that was cut off is made anew
    rm -rf "$tree" "$tree.whole"
    step git worktree prune
    step git worktree add --detach "$tree" "$commit"
    touch "$tree.whole"
fi
options=(-DRUNGS_TESTS=OFF -DRUNGS_EMULATOR=OFF) # what is compared is times: no emulator, no tests
for option in RUNGS_CUDA RUNGS_CUDA_ARCHITECTURES RUNGS_CPU_ARCHITECTURE CMAKE_C_COMPILER CMAKE_CXX_COMPILER CMAKE_CUDA_COMPILER \
    rungs_DIR CMAKE_PREFIX_PATH; do
    value=$(sed -n "s/^$option:[A-Z]*=//p" "$own/CMakeCache.txt")
    if [ -n "$value" ]; then options+=("-D$option=$value"); fi
done
make_it cmake -G Ninja -DCMAKE_BUILD_TYPE=Release -S "$tree" -B "$tree/build/release" "${options[@]}"
make_it cmake --build "$tree/build/release" --target "$name"
echo "$tree/$program"

#!/usr/bin/env bash
# Builds the project of a folder into its build/release, in Release, for `rungs build`. What is wrong with the project is one line.
# usage: cmake/build_project.sh FOLDER CONFIG [BUILD]     CONFIG: lib/cmake/rungs of the prefix; BUILD: the folder that this rungs was built
# in, if it is not installed: it is, into BUILD/prefix
# Exit codes: 0; 2 the project cannot be built; 4 the machine lacks a tool
set -euo pipefail
folder=$1 config=$2 own=${3:-}
log=$folder/build/release/build.log

refuse() { # CODE WORDS...
    local code=$1
    shift
    echo "$*"
    exit "$code"
}
for tool in cmake ninja; do
    command -v "$tool" >/dev/null || refuse 4 "$tool is missing: apt-get install cmake ninja-build"
done
[ -f "$folder/CMakeLists.txt" ] || refuse 2 "$folder has no CMakeLists.txt; \`rungs new FOLDER\` writes a project"
grep -q rungs_add_project "$folder/CMakeLists.txt" ||
    refuse 2 "$folder/CMakeLists.txt does not call rungs_add_project; \`rungs new FOLDER\` shows how"
if [ -n "$own" ] && [ ! -f "$config/rungs-config.cmake" ]; then
    config=$own/prefix/lib/cmake/rungs
    cmake --build "$own" --target harness_of_projects >"$own/prefix.log" 2>&1 || refuse 2 "this rungs cannot be built in $own; the log is $own/prefix.log"
    cmake --install "$own" --component Unspecified --prefix "$own/prefix" >"$own/prefix.log" 2>&1 ||
        refuse 2 "this rungs cannot be installed from $own; the log is $own/prefix.log"
    python=$(cd "$(dirname "$0")/.." && pwd)/build/python # of the checkout: ./rungs makes it
    if [ -d "$python" ]; then ln -sfn "$python" "$own/prefix/share/rungs/python"; fi
fi
[ -f "$config/rungs-config.cmake" ] ||
    refuse 2 "there is no $config/rungs-config.cmake: this rungs is not installed; cmake --install its build folder --prefix DIR, and call DIR/bin/rungs"
mkdir -p "$folder/build/release" 2>/dev/null || refuse 2 "$folder/build/release cannot be made"

# What of the log is meant for the user: our own message, on one line, or the end.
explain() {
    local told wanted
    wanted=$(tr -s '\n ' ' ' <"$log" | sed -n 's/.*package "rungs" that is compatible with requested version "\([^"]*\)".*/\1/p')
    if [ -n "$wanted" ]; then # CMake breaks its lines
        refuse 2 "the project asks for rungs $wanted, $config has $(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' "$config/rungs-config-version.cmake"):" \
            "call that version's rungs build, or change find_package(rungs) in $folder/CMakeLists.txt"
    fi
    told=$(sed -n '/^  rungs: /,/^ *$/p' "$log" | tr -s '\n ' ' ' | sed 's/^ *rungs: //; s/ *$//')
    if [ -z "$told" ]; then told=$(grep -E '^(impls|reference)(/[^ :]+)*:' "$log" || true); fi
    if [ -n "$told" ]; then refuse 2 "$told"; fi
    echo "the project cannot be built; the end of $log:"
    tail -n 25 "$log"
    exit 2
}
cmake -G Ninja -S "$folder" -B "$folder/build/release" -DCMAKE_BUILD_TYPE=Release -Drungs_DIR="$config" >"$log" 2>&1 || explain
cmake --build "$folder/build/release" >>"$log" 2>&1 || explain
# Files whose names do not fit are left out by the program, which says so.
program=$(sed -n 's/.*"program": "\([^"]*\)".*/\1/p' "$folder/build/release/modules/settings.json" | head -n 1)
told=$("$program" list ops 2>&1 >/dev/null) || true
if [ -n "$told" ]; then refuse 2 "$told"; fi

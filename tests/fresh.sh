#!/usr/bin/env bash
# The promise of the README on a machine that has nothing: makes a bare Debian 12 (debootstrap, minbase, an unprivileged user with sudo),
# clones HEAD into it, runs `./rungs reproduce` and `./rungs test -R .` there, and says how long each took, which checks were skipped and how
# large build/ became. Of the host only the package sources are used: mirror, proxies, pip's index and certificate.
#
#   tests/fresh.sh                  Debian 12; needs root and the network
#   tests/fresh.sh noble            Ubuntu 24.04
#   RUNGS_FRESH_MIRROR=URL          another mirror of the distribution
#   RUNGS_FRESH_ROOT=DIR            a root made before (by debootstrap or from an image), used as it is and kept
#   RUNGS_FRESH_BUDGET=30s          of `./rungs reproduce`
#
# Exit codes: 0 both commands passed; 1 one failed; 77 no such root can be had here, with the reason.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
suite=${1:-bookworm}
largest_mib=3072 # of build/: the program for the emulator, and the tests with nvcc's kernels

say() { printf 'fresh: %s\n' "$*"; }
cannot() {
    say "no bare root: $*"
    exit 77
}

case $suite in
bookworm) mirror=http://deb.debian.org/debian components=main ;;
noble) mirror=http://archive.ubuntu.com/ubuntu components=main,universe ;;
*)
    echo "usage: tests/fresh.sh [bookworm|noble]" >&2
    exit 2
    ;;
esac
mirror=${RUNGS_FRESH_MIRROR:-$mirror}

# ---- Inside the namespaces of `unshare`: mounts and processes end with it.
run_in_root() { # ROOT
    local root=$1
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=755 dev "$root/dev"
    for node in null zero full random urandom tty; do
        touch "$root/dev/$node"
        mount --bind "/dev/$node" "$root/dev/$node"
    done
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
    mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    ln -s /proc/self/fd/0 "$root/dev/stdin"
    ln -s /proc/self/fd/1 "$root/dev/stdout"
    ln -s /proc/self/fd/2 "$root/dev/stderr"

    local failed=0
    as_newcomer "$root" "./rungs reproduce --budget ${RUNGS_FRESH_BUDGET:-30s}" || failed=1
    # Real times are asked for on a machine that is not ours: what fails is run once more, and told.
    as_newcomer "$root" "./rungs test -R . --repeat until-pass:2" || failed=1
    local mib
    mib=$(du -sm "$root/home/newcomer/rungs/build" | cut -f1)
    say "build/ has $mib MiB (at most $largest_mib)"
    [ "$mib" -le "$largest_mib" ] || failed=1
    return "$failed"
}

# One command of the README, in a login shell of the user: nothing of our environment but the package sources.
as_newcomer() { # ROOT COMMAND
    local root=$1 command=$2 began=$SECONDS status=0 name settings=''
    for name in http_proxy https_proxy no_proxy PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_DEFAULT_TIMEOUT; do
        if [ -n "${!name:-}" ]; then settings+=$(printf '%s=%q ' "$name" "${!name}"); fi
    done
    if [ -e "$root/etc/pip-certificates.crt" ]; then settings+="PIP_CERT=/etc/pip-certificates.crt "; fi
    say "$command"
    chroot "$root" su -l newcomer -c "cd rungs && env $settings$command" </dev/null || status=$?
    say "$command: exit code $status after $((SECONDS - began)) s"
    [ "$status" = 0 ]
}

if [ "${RUNGS_FRESH_INSIDE:-}" = 1 ]; then
    run_in_root "$RUNGS_FRESH_ROOT"
    exit
fi

# ---- Outside: the root and the clone.
[ "$(id -u)" = 0 ] || cannot "it takes root (debootstrap, chroot)"
unshare --mount --pid --fork true 2>/dev/null || cannot "namespaces cannot be made here (a container without CAP_SYS_ADMIN?)"
if [ -z "${RUNGS_FRESH_ROOT:-}" ] && ! command -v debootstrap >/dev/null; then
    { apt-get -q update && apt-get -q -y install --no-install-recommends debootstrap; } >/dev/null 2>&1 ||
        cannot "debootstrap is not installed and could not be"
fi

root=${RUNGS_FRESH_ROOT:-}
if [ -z "$root" ]; then
    root=$(mktemp -d /var/tmp/rungs-fresh-XXXXXX)
    trap 'umount -q "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT # debootstrap, cut off, leaves /proc mounted
    say "making $suite in $root from $mirror"
    # An older debootstrap has no script by the suite's name: Ubuntu's are one, under that of its first.
    recipe=()
    if [ "$suite" = noble ] && [ ! -e /usr/share/debootstrap/scripts/noble ]; then recipe=(/usr/share/debootstrap/scripts/gutsy); fi
    debootstrap --variant=minbase --include=sudo --components="$components" "$suite" "$root" "$mirror" "${recipe[@]}" >"$root.log" 2>&1 || {
        tail -n 5 "$root.log"
        rm "$root.log"
        cannot "debootstrap failed"
    }
    rm "$root.log"
fi
chmod 755 "$root"
certificate=${PIP_CERT:-$(python3 -m pip config get global.cert 2>/dev/null || true)}
if [ -e "$certificate" ]; then cp "$certificate" "$root/etc/pip-certificates.crt"; fi
cp --dereference /etc/resolv.conf "$root/etc/resolv.conf"
printf '127.0.0.1 localhost %s\n' "$(uname -n)" >"$root/etc/hosts"
proxy=$(apt-config dump 2>/dev/null | grep -i '^Acquire::https\?::Proxy ' || true)
if [ -n "$proxy" ]; then printf '%s\n' "$proxy" >"$root/etc/apt/apt.conf.d/80proxy"; fi
chroot "$root" id newcomer >/dev/null 2>&1 || chroot "$root" useradd --create-home --shell /bin/bash newcomer
echo 'newcomer ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/newcomer"
rm -rf "$root/home/newcomer/rungs"
git -c safe.directory='*' clone -q --no-hardlinks "$source" "$root/home/newcomer/rungs"
chroot "$root" chown -R newcomer: /home/newcomer/rungs
if [ -n "$(git -C "$source" -c safe.directory='*' status --porcelain 2>/dev/null)" ]; then say "what is not committed is left out"; fi
# shellcheck disable=SC2016 # expanded inside the root
distribution=$(chroot "$root" sh -c '. /etc/os-release && echo "$PRETTY_NAME"')
say "commit $(git -C "$source" -c safe.directory='*' rev-parse --short HEAD), $distribution, $(nproc) cores"

RUNGS_FRESH_ROOT=$root RUNGS_FRESH_INSIDE=1 unshare --mount --pid --fork --kill-child "$0" "$suite"

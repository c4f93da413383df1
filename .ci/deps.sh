#!/bin/sh
# Installs what is missing of the named sets (build study plots site test lint browser fuzz) with the system's package
# manager, all in one transaction. Touches neither network nor packages when everything is there.
#
# DEPS_WAIT: the seconds to wait for somebody else's apt-get to end; 300 where it is not set.
set -eu

has_command() { command -v "$1" >/dev/null 2>&1; }
has_daemon() { has_command "$1" || [ -x "/usr/sbin/$1" ]; }
has_package() { pkg-config --exists "$1" 2>/dev/null; }
has_hdf5() { has_package hdf5-serial || has_package hdf5; }
has_python() { # has_python MODULE: as tests/python.sh looks for it
    python3 -c "import $1" 2>/dev/null || /usr/bin/python3 -c "import $1" 2>/dev/null
}
has_theme() { # of mkdocs
    for python in python3 /usr/bin/python3; do
        ! "$python" -c 'from mkdocs.utils import get_theme_names as n; exit("material" not in n())' 2>/dev/null || return 0
    done
    return 1
}
has_browser() { has_command chromium || has_command chromium-browser || has_command google-chrome; }
has_libc() { echo '#include <stdio.h>' | gcc -E - >/dev/null 2>&1; }
has_fuzzer() {
    echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return !d + !n; }' |
        clang -x c -fsanitize=fuzzer,address,undefined -o /dev/null - >/dev/null 2>&1
}

# Package names: Debian and its kin, Fedora and its kin, Arch, Homebrew; "-": comes with another.
missing=""
if has_command apt-get; then manager=apt
elif has_command dnf; then manager=dnf
elif has_command pacman; then manager=pacman
elif has_command brew; then manager=brew
else manager=none; fi

need() { # need DEBIAN FEDORA ARCH BREW CHECK...
    debian=$1 fedora=$2 arch=$3 brew=$4
    shift 4
    "$@" && return
    case $manager in
    dnf) name=$fedora ;;
    pacman) name=$arch ;;
    brew) name=$brew ;;
    *) name=$debian ;;
    esac
    case " $missing " in *" $name "*) return ;; esac
    [ "$name" = - ] || missing="$missing $name"
}

for set in "$@"; do
    case $set in
    build)
        need gcc gcc gcc gcc has_command gcc
        need libc6-dev glibc-devel glibc - has_libc
        need make make make make has_command make
        need pkg-config pkgconf-pkg-config pkgconf pkgconf has_command pkg-config
        need libgsl-dev gsl-devel gsl gsl has_package gsl
        need libcjson-dev cjson-devel cjson cjson has_package libcjson
        need libhdf5-dev hdf5-devel hdf5 hdf5 has_hdf5
        need zlib1g-dev zlib-devel zlib zlib has_package zlib
        need nettle-dev nettle-devel nettle nettle has_package nettle
        ;;
    study)
        need python3 python3 python python has_command python3
        ;;
    plots)
        need gnuplot-nox gnuplot gnuplot gnuplot has_command gnuplot
        ;;
    site)
        need mkdocs mkdocs mkdocs mkdocs has_command mkdocs
        need mkdocs-material - mkdocs-material - has_theme
        ;;
    test)
        need libcmocka-dev libcmocka-devel cmocka cmocka has_package cmocka
        need valgrind valgrind valgrind - has_command valgrind
        need hdf5-tools hdf5 hdf5 hdf5 has_command h5dump
        need slurmctld slurm-slurmctld slurm-llnl - has_daemon slurmctld
        need slurmd slurm-slurmd slurm-llnl - has_daemon slurmd
        need slurm-client slurm slurm-llnl - has_command sbatch
        need munge munge munge - has_daemon munged
        need librsvg2-bin librsvg2-tools librsvg librsvg has_command rsvg-convert
        need poppler-utils poppler-utils poppler poppler has_command pdfinfo
        need procps procps-ng procps-ng - has_command ps
        need python3-h5py python3-h5py python-h5py - has_python h5py
        need python3-pandas python3-pandas python-pandas - has_python pandas
        need python3-matplotlib python3-matplotlib python-matplotlib - has_python matplotlib
        need python3-jsonschema python3-jsonschema python-jsonschema - has_python jsonschema
        need zsh zsh zsh zsh has_command zsh
        need fish fish fish fish has_command fish
        ;;
    lint)
        need clang-tidy clang-tools-extra clang llvm has_command clang-tidy
        need clang-format clang-tools-extra clang clang-format has_command clang-format
        need cppcheck cppcheck cppcheck cppcheck has_command cppcheck
        need shellcheck ShellCheck shellcheck shellcheck has_command shellcheck
        ;;
    browser)
        need chromium chromium chromium chromium has_browser
        need poppler-utils poppler-utils poppler poppler has_command pdfinfo
        ;;
    fuzz)
        need clang clang clang llvm has_command clang
        need libclang-rt-dev compiler-rt compiler-rt - has_fuzzer
        ;;
    *)
        echo "deps: no set '$set': build study plots site test lint browser fuzz" >&2
        exit 2
        ;;
    esac
done

missing=${missing# }
if [ -z "$missing" ]; then
    echo "deps ($*): all there"
    exit 0
fi

stop() { # stop REASON: one line, and what is to be installed by hand
    echo "deps: $1; install by hand and try again: $missing" >&2
    exit 1
}

echo "deps ($*): will install: $missing"
patience=${DEPS_WAIT:-300}
case $manager in
apt) command="apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=$patience $missing" ;;
dnf) command="dnf install -y $missing" ;;
pacman) command="pacman -S --needed --noconfirm $missing" ;;
brew) command="brew install $missing" ;;
none) stop "no apt-get, dnf, pacman or brew here" ;;
esac

become=""
if [ "$manager" != brew ] && [ "$(id -u)" -ne 0 ]; then
    has_command sudo || stop "neither root nor sudo, so $manager cannot be used"
    become=sudo
fi

# Another apt-get may hold the lock of the package lists, for which apt-get itself does not wait.
lists_update() {
    said=$(mktemp)
    begun=$(date +%s)
    until $become apt-get update -qq 2>"$said"; do
        if ! grep -q 'lock' "$said" || [ $(($(date +%s) - begun)) -ge "$patience" ]; then
            # Stale lists are worth a warning, not a failure: the packages may be cached.
            echo "deps: apt-get update failed ($(head -n 1 "$said")); going on with the lists at hand" >&2
            break
        fi
        sleep 2
    done
    rm -f "$said"
}

if [ "$manager" = apt ]; then
    # Named on the command line, since sudo drops the environment.
    command="env DEBIAN_FRONTEND=noninteractive $command"
    lists_update
fi
echo "deps: ${become:+$become }$command"
# The words of $command are the arguments.
# shellcheck disable=SC2086
$become $command || stop "the installation failed, for the reason above"

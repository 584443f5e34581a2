#!/bin/sh
# Installs solar-render @VERSION@, its manual pages and completions; `sh install.sh --help` says how.
#
# The braces make one command of it: a shell that has read only a part of this script runs nothing. It needs nothing
# that is GNU's or bash's.
{
set -eu
umask 022

version='@VERSION@'
downloads="${SOLAR_DOWNLOADS:-@DOWNLOADS@}"
sums='
@SUMS@
'

usage() {
    cat <<USAGE
Installs solar-render $version, its manual pages and completions.
usage: sh install.sh [--program solar-render|solar-operator] [--prefix DIR]

The prefix is /usr/local for root and ~/.local for everybody else. SOLAR_DOWNLOADS
names another URL that has the archives. They must have the checksums that are
written in this script, wherever they come from.
USAGE
}

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# A server that stalls ends the download; curl tries again.
download() {
    if has curl; then
        curl --fail --silent --show-error --location --retry 3 --connect-timeout 20 --speed-limit 1 --speed-time 60 \
            --output "$2" "$1"
    elif has wget; then
        # Debian's BusyBox crashes when it is given a timeout.
        case "$(wget --version 2>&1 || true)" in
            *GNU*) wget -q -T 60 -t 3 -O "$2" "$1" ;;
            *) wget -q -O "$2" "$1" ;;
        esac
    else
        fail "curl or wget is needed to download $1"
    fi || fail "$1 can't be downloaded"
}

checksum() {
    if has sha256sum; then
        sha256sum "$1"
    elif has shasum; then
        shasum -a 256 "$1"
    else
        fail "sha256sum or shasum is needed to check what was downloaded"
    fi
}

program=solar-render
prefix=
while [ "$#" -gt 0 ]; do
    case "$1" in
        --prefix | --program) [ -n "${2:-}" ] || fail "$1 requires a value" ;;
    esac
    case "$1" in
        --prefix) prefix="$2"; shift 2 ;;
        --prefix=?*) prefix="${1#*=}"; shift ;;
        --program) program="$2"; shift 2 ;;
        --program=?*) program="${1#*=}"; shift ;;
        -h | --help) usage; exit 0 ;;
        *) fail "unexpected argument $1; see --help" ;;
    esac
done
case "$program" in solar-render | solar-operator) ;; *) fail "there is no program $program" ;; esac
if [ -z "$prefix" ]; then
    if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix="${HOME:?set HOME, or give --prefix}/.local"; fi
fi
case "$prefix" in /*) ;; *) prefix="$PWD/$prefix" ;; esac
for tool in tar gzip; do has "$tool" || fail "$tool is needed to unpack the archive"; done

case "$(uname -m)" in
    x86_64 | amd64) processor=x86_64 ;;
    aarch64 | arm64) processor=aarch64 ;;
    *) processor="$(uname -m)" ;;
esac
case "$(uname -s)" in
    Linux) system=unknown-linux ;;
    Darwin) system=apple-darwin ;;
    *) system="$(uname -s)" ;;
esac
# The C library doesn't matter to a static program: the first archive of the platform will do.
line="$(printf '%s\n' "$sums" | grep "  $program-$version-$processor-$system[-.]" | head -n 1)"
if [ -z "$line" ]; then
    known="$(printf '%s\n' "$sums" | sed -n "s/.*  $program-$version-\(.*\)\.tar\.gz/\1/p" | tr '\n' ' ')"
    fail "there is no $program for $(uname -s) on $(uname -m); there is: $known"
fi
sum="${line%% *}"
archive="${line##* }"

new="$prefix/bin/.$program.new"
work="$(mktemp -d)"
trap 'rm -rf "$work" "$new"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

download "$downloads/$archive" "$work/$archive"
found="$(checksum "$work/$archive")"
found="${found%% *}"
[ "$found" = "$sum" ] || fail "$downloads/$archive has the SHA-256 $found, expected $sum: nothing is installed"
gzip -dc "$work/$archive" | (cd "$work" && tar -xf -)
unpacked="$work/${archive%.tar.gz}"

mkdir -p "$prefix/bin" "$prefix/share" 2>/dev/null || fail "$prefix can't be made; --prefix names another folder"
[ -w "$prefix/bin" ] && [ -w "$prefix/share" ] ||
    fail "$prefix can't be written; --prefix names another folder, or run this as root"
[ ! -d "$prefix/bin/$program" ] || fail "$prefix/bin/$program is a folder"

# The program is renamed into place, and only when it runs: one that is running can't be written to, and one that runs
# is not replaced by one that doesn't.
cp "$unpacked/bin/$program" "$new"
"$new" --version >/dev/null || fail "$archive holds a program that doesn't run here: nothing is installed"
cp -R "$unpacked/share/." "$prefix/share/"
mv -f "$new" "$prefix/bin/$program"
for file in "$unpacked"/bin/*; do
    [ ! -h "$file" ] || ln -sf "$program" "$prefix/bin/${file##*/}"
done
echo "installed $program $version in $prefix"
case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) echo "$prefix/bin is not on the PATH" ;;
esac
exit 0
}

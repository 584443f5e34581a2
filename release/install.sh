#!/bin/sh
# Installs solar-render @VERSION@, its manual pages and completions.
# usage: sh install.sh [--program solar-render|solar-operator] [--prefix DIR]
#
# The prefix is /usr/local for root and ~/.local for everybody else. SOLAR_DOWNLOADS names another place that has the
# archives. They must have the checksums that are written in here, wherever they come from.
set -eu

version='@VERSION@'
downloads="${SOLAR_DOWNLOADS:-@DOWNLOADS@}"
program=solar-render
prefix=
sums='
@SUMS@
'

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

while [ "$#" -gt 0 ]; do
    case "$1" in
        --prefix) [ "$#" -gt 1 ] || fail "--prefix requires a folder"; prefix="$2"; shift 2 ;;
        --program) [ "$#" -gt 1 ] || fail "--program requires a name"; program="$2"; shift 2 ;;
        -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) fail "unexpected argument $1; see --help" ;;
    esac
done
case "$program" in solar-render | solar-operator) ;; *) fail "there is no program $program" ;; esac
if [ -z "$prefix" ]; then
    if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix="${HOME:?set HOME, or give --prefix}/.local"; fi
fi

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
# One archive for each platform: the C library doesn't matter to a static program.
line="$(printf '%s\n' "$sums" | grep "  $program-$version-$processor-$system[-.]" || true)"
if [ -z "$line" ]; then
    known="$(printf '%s\n' "$sums" | sed -n "s/.*  $program-$version-\(.*\)\.tar\.gz/\1/p" | tr '\n' ' ')"
    fail "there is no $program for $(uname -s) on $(uname -m); there is: $known"
fi
sum="${line%% *}"
archive="${line##* }"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
if command -v curl >/dev/null; then
    curl --fail --silent --show-error --location --retry 3 --output "$work/$archive" "$downloads/$archive" ||
        fail "$downloads/$archive can't be downloaded"
elif command -v wget >/dev/null; then
    wget -q -O "$work/$archive" "$downloads/$archive" || fail "$downloads/$archive can't be downloaded"
else
    fail "curl or wget is needed to download $downloads/$archive"
fi

if command -v sha256sum >/dev/null; then
    found="$(sha256sum "$work/$archive")"
elif command -v shasum >/dev/null; then
    found="$(shasum -a 256 "$work/$archive")"
else
    fail "sha256sum or shasum is needed to check $archive"
fi
found="${found%% *}"
[ "$found" = "$sum" ] || fail "$downloads/$archive has the SHA-256 $found, expected $sum: nothing is installed"

tar -xzf "$work/$archive" -C "$work"
unpacked="$work/${archive%.tar.gz}"
mkdir -p "$prefix" 2>/dev/null || fail "$prefix can't be made; --prefix names another folder"
[ -w "$prefix" ] || fail "$prefix can't be written; --prefix names another folder, or run this as root"
# The program is renamed into place: one that is running can't be written to.
mkdir -p "$prefix/bin" "$prefix/share"
for file in "$unpacked"/bin/*; do
    name="$(basename "$file")"
    cp -P "$file" "$prefix/bin/.$name.new"
    mv -f "$prefix/bin/.$name.new" "$prefix/bin/$name"
done
cp -R "$unpacked/share/." "$prefix/share/"
"$prefix/bin/$program" --version >/dev/null || fail "$prefix/bin/$program doesn't run"
echo "installed $program $version in $prefix"
case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) echo "$prefix/bin is not on the PATH" ;;
esac

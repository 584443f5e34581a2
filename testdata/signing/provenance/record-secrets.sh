#!/usr/bin/env bash
# Makes the secret keys that `package --sign` is tested with. Needs gpg (2.2.40 here). Everything comes out anew.
# The passphrase of `locked` is "open sesame"; the others have none.
set -euo pipefail
cd "$(dirname "$0")"
GNUPGHOME=$(mktemp -d)
export GNUPGHOME
trap 'gpgconf --kill all; rm -rf "$GNUPGHOME"' EXIT

at() { # TIME PASSPHRASE ARGUMENTS…
    local time=$1 passphrase=$2
    shift 2
    gpg --quiet --batch --yes --no-tty --pinentry-mode loopback --passphrase "$passphrase" \
        --faked-system-time "$time!" "$@" 2>>"$GNUPGHOME/log"
}
made=20240101T000000
fingerprint() { gpg --list-keys --with-colons "$1@example.com" | awk -F: '/^fpr/ { print $10; exit }'; }
make_key() { at "$made" "${5:-}" --quick-gen-key "$1 <$1@example.com>" "$2" "${3:-sign}" "${4:-never}"; }
make_key locked rsa2048 sign never 'open sesame'
make_key p521 nistp521
make_key dsa dsa2048
make_key expired ed25519 sign 1y
make_key revoked ed25519
make_key certifier ed25519 cert
make_key subkey ed25519 cert,sign
for name in certifier subkey; do
    at "$made" '' --quick-add-key "$(fingerprint "$name")" rsa2048 sign never
done
sed 's/^:---/---/' "$GNUPGHOME/openpgp-revocs.d/$(fingerprint revoked).rev" | at "$made" '' --import

names=(locked p521 dsa expired revoked certifier)
for name in "${names[@]}"; do
    at "$made" "$([ "$name" = locked ] && echo 'open sesame' || true)" --export-secret-keys "$name@example.com"
done >secrets.gpg
# Of this one only the subkey is there, the primary key is a stub.
at "$made" '' --export-secret-subkeys subkey@example.com >>secrets.gpg
gpg --export "${names[@]/%/@example.com}" subkey@example.com >secrets-public.gpg

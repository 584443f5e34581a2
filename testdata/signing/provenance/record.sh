#!/usr/bin/env bash
# Makes the keys, the chart and the provenance files here, and records what Helm says to each of them in
# verdicts.txt. Needs gpg (2.2.40 here) and helm (4.3.1). Everything comes out anew: keys, sums, signatures.
#
# Signatures are GnuPG's, at a time long past, so that they hold on every machine whatever its clock says.
set -euo pipefail
cd "$(dirname "$0")"
GNUPGHOME=$(mktemp -d)
export GNUPGHOME
scratch=$(mktemp -d)
trap 'gpgconf --kill all; rm -rf "$GNUPGHOME" "$scratch"' EXIT

at() { # TIME ARGUMENTS…
    local time=$1
    shift
    gpg --quiet --batch --yes --no-tty --pinentry-mode loopback --passphrase '' \
        --faked-system-time "$time!" --allow-weak-digest-algos "$@" 2>>"$scratch/log"
}
made=20240101T000000
signed=20240102T000000

make_key() { at "$made" --quick-gen-key "$1 <$1@example.com>" "$2" "${3:-sign}" "${4:-never}"; }
fingerprint() { gpg --list-keys --with-colons "$1@example.com" | awk -F: '/^fpr/ { print $10; exit }'; }
make_key rsa rsa2048
make_key ed25519 ed25519
make_key p256 nistp256
make_key p384 nistp384
make_key p521 nistp521
make_key dsa dsa2048
make_key small rsa1024
make_key stranger ed25519
make_key revoked ed25519
make_key expired ed25519 sign 1y
for name in subkey oldsubkey takenback; do
    make_key "$name" ed25519 cert
    life=never
    [ "$name" != oldsubkey ] || life=1y
    at "$made" --quick-add-key "$(fingerprint "$name")" ed25519 sign "$life"
done

rm -f ./*.prov demo-1.0.0.tgz
mkdir "$scratch/demo"
printf 'apiVersion: v2\nname: demo\nversion: 1.0.0\n' >"$scratch/demo/Chart.yaml"
helm package "$scratch/demo" -d . >/dev/null
sum=$(sha256sum demo-1.0.0.tgz | cut -d' ' -f1)
body() { # NAME SUM
    cat "$scratch/demo/Chart.yaml"
    printf '\n...\nfiles:\n  %s: sha256:%s\n' "$1" "$2"
}
body demo-1.0.0.tgz "$sum" >"$scratch/body"
clear() { # CASE TIME BODY ARGUMENTS…
    local name=$1 time=$2 text=$3
    shift 3
    at "$time" "$@" --output "$name.prov" --clearsign "$text"
}
for name in rsa ed25519 p256 p384 p521 dsa small stranger revoked expired subkey oldsubkey takenback; do
    clear "$name" $signed "$scratch/body" --local-user "$name@example.com" --digest-algo SHA512
done
for hash in sha1 sha224 sha256 sha384; do
    clear "rsa-$hash" $signed "$scratch/body" --local-user rsa@example.com --digest-algo "$hash"
done
by_rsa=(--local-user rsa@example.com --digest-algo SHA512)
clear two-signers $signed "$scratch/body" --local-user stranger@example.com "${by_rsa[@]}"
clear short-lived $signed "$scratch/body" "${by_rsa[@]}" --default-sig-expire 30
clear future 20990101T000000 "$scratch/body" "${by_rsa[@]}"
clear before-its-key 20230101T000000 "$scratch/body" "${by_rsa[@]}" --ignore-time-conflict || rm -f before-its-key.prov
body other-1.0.0.tgz "$sum" >"$scratch/other"
clear other-name $signed "$scratch/other" "${by_rsa[@]}"
body demo-1.0.0.tgz "$(printf x | sha256sum | cut -d' ' -f1)" >"$scratch/other"
clear other-sum $signed "$scratch/other" "${by_rsa[@]}"
clear no-sums $signed "$scratch/demo/Chart.yaml" "${by_rsa[@]}"
sed 's/version: 1.0.0/version: 1.0.1/' rsa.prov >tampered.prov
sed '/^wq\|^iQ\|^iH/ s/.$/A/' rsa.prov | sed '0,/^=/ s/^=.*//' >damaged.prov
sed 's/$/\r/' rsa.prov >dos-lines.prov
{ echo "before"; cat rsa.prov; echo "after"; } >framed.prov
echo hello >no-message.prov
: >empty.prov

revoke() { sed 's/^:---/---/' "$GNUPGHOME/openpgp-revocs.d/$(fingerprint "$1").rev" | at $signed --import; }
revoke revoked
printf 'key 1\nrevkey\ny\n0\n\ny\nsave\n' | gpg --quiet --no-tty --pinentry-mode loopback --passphrase '' \
    --faked-system-time "$signed!" --command-fd 0 --edit-key takenback@example.com 2>>"$scratch/log"

all=(rsa ed25519 p256 p384 p521 dsa small revoked expired subkey oldsubkey takenback)
gpg --export "${all[@]/%/@example.com}" >keyring.gpg
gpg --armor --export rsa@example.com ed25519@example.com >keyring.asc
gpg --export ed25519@example.com >ed25519.gpg
# A revocation that nobody imported, as GnuPG keeps it for every key.
sed -n 's/^:---/---/; /^-----BEGIN/,$p' "$GNUPGHOME/openpgp-revocs.d/$(fingerprint rsa).rev" >rsa-revocation.asc
gpg --batch --pinentry-mode loopback --passphrase '' --export-secret-keys rsa@example.com >secret.gpg
at $signed --delete-secret-and-public-key "$(fingerprint stranger)"
gpgconf --kill all
cp "$GNUPGHOME/pubring.kbx" keyring.kbx

cp demo-1.0.0.tgz "$scratch/"
helm version --short >verdicts.txt
verdict() { # CASE KEYRING
    cp "$1.prov" "$scratch/demo-1.0.0.tgz.prov"
    local said
    if said=$(cd "$scratch" && helm verify demo-1.0.0.tgz --keyring "$here/$2" 2>&1); then
        echo "$1 $2: good, $(sed -n 's/^Using Key With Fingerprint: //p' <<<"$said" | head -1)"
    else
        echo "$1 $2: $(head -1 <<<"$said")"
    fi
}
here=$PWD
for file in *.prov; do verdict "${file%.prov}" keyring.gpg; done >>verdicts.txt
for ring in keyring.asc keyring.kbx secret.gpg ed25519.gpg; do verdict rsa "$ring"; done >>verdicts.txt
cat "$scratch/log" >&2

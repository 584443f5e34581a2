#!/bin/sh
# Rewrites all golden files in this folder. Needs Go, and for charts/ helm 4.3.1 in PATH or in $HELM;
# README.md has the formats. The same bytes come out of every run.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
helm=$(command -v "${HELM:-helm}" || true)
case $("${helm:-true}" version 2>/dev/null) in
*'Version:"v4.3"'* | *'Version:"v4.3.1"'*) ;;
*) helm= && echo "no helm 4.3.1: charts/ stays as it is" >&2 ;;
esac
cd "$here/record"
TZ=UTC go run . ../ $helm

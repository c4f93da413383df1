#!/bin/sh
# make release: says what is not ready for the version of CITATION.cff, or sets its tag. Nothing is sent anywhere.
# PACKAGES=no leaves out what takes minutes: the packages, built, installed and run.
set -eu
cd "$(git rev-parse --show-toplevel)"
version=$(sed -n 's/^version: *//p' CITATION.cff)
released=$(sed -n 's/^date-released: *//p' CITATION.cff)
heading=$(grep -m1 '^## ' CHANGELOG.md)
stop() {
    echo "release: $1" >&2
    exit 2
}

! git rev-parse -q --verify "refs/tags/v$version" >/dev/null ||
    stop "the tag v$version is there; CITATION.cff: raise version"
[ "$heading" = "## $version, $released" ] ||
    stop "CHANGELOG.md begins with \"$heading\"; CITATION.cff has version $version of $released: make them agree"
[ "$released" = "$(date +%F)" ] || stop "CITATION.cff: date-released is $released; today is $(date +%F)"
[ -z "$(git status --porcelain)" ] ||
    stop "the tree is not clean: commit or remove what \`git status\` lists"
[ "${PACKAGES:-yes}" = no ] || BUILD=${BUILD:-build} sh tests/packages.sh || stop "the packages fail"
git tag -a "v$version" -m "esgsim $version"
echo "release: set the tag v$version; git push origin v$version publishes it"

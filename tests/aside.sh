#!/bin/sh
# Prints the names of tests/aside.txt that no change concerns, one a line, and says so in one line on standard
# error. A change is one since the newest commit that is over four hours old. Without git nothing is left out.
set -eu
cd "$(dirname "$0")/.."

base=$(git log -1 --before='4 hours ago' --format=%H 2>/dev/null) || base=
[ -n "$base" ] || exit 0
changed=$(git diff --name-only "$base")

# concerned PATTERN...: a changed file matches.
concerned() {
    set -f
    for file in $changed; do
        for pattern; do
            # shellcheck disable=SC2254
            case $file in
            $pattern) return 0 ;;
            esac
        done
    done
    return 1
}
block() { sed -n '/<!-- begin reproduce -->/,/<!-- end reproduce -->/p'; }

left=
while read -r name patterns; do
    # shellcheck disable=SC2086
    ! (set -f; concerned $patterns) || continue
    if [ "$name" = sentences ] && [ "$(git show "$base:README.md" | block)" != "$(block <README.md)" ]; then continue; fi
    left="$left $name"
    echo "$name"
done <<END
$(grep -v '^#' tests/aside.txt)
END
[ -z "$left" ] || echo "left out, since their files are as in $(git log -1 --format='%h of %cs' "$base"):$left" >&2

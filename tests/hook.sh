#!/bin/sh
# Before a commit (make hooks): lays out the staged sources, and checks includes, the budgets of lines and the
# staged scripts.
set -eu
cd "$(git rev-parse --show-toplevel)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
staged() { git diff --cached --name-only --diff-filter=ACMR -- "$@"; }

for file in $(staged '*.c' '*.h'); do
    if git diff --quiet -- "$file"; then
        clang-format -i "$file"
        git add "$file"
    else # staged in part: not to be touched
        git show ":$file" >"$work/staged"
        clang-format --assume-filename="$file" <"$work/staged" >"$work/laid-out"
        cmp -s "$work/laid-out" "$work/staged" || {
            echo "hook: $file is staged in part and not laid out; run make format and stage it again" >&2
            exit 1
        }
    fi
done
scripts=$(staged '*.sh')
# shellcheck disable=SC2086
[ -z "$scripts" ] || shellcheck -x $scripts
sh tests/rooms.sh >"$work/said" || { cat "$work/said" >&2; exit 1; }
sh tests/lines.sh >"$work/said" || { grep -v ' files ' "$work/said" >&2; exit 1; }
git diff --quiet -- tests/budget || git add tests/budget

#!/bin/sh
# Builds the static site, build/site/html, from the pages of the repository and their pictures. Every warning is an
# error: a page without a place in site/mkdocs.yml, a link or a picture that leads nowhere.
set -eu
cd "$(dirname "$0")/.."
rm -rf build/site
mkdir -p build/site/pages
find . -name build -prune -o -path ./tests -prune -o -name .git -prune -o -type f \
    \( -name '*.md' ! -name ORIGIN.md -o -path './*.svg' -o -path './sched/pictures/*' -o -path './plots/gallery/*' -o -name LICENSE -o -name '*.gpl' \) -print |
    while read -r file; do
        mkdir -p "build/site/pages/$(dirname "$file")"
        cp "$file" "build/site/pages/$file"
    done
grep -oE '[^ ]+\.md$' site/mkdocs.yml | sort >build/site/placed
(cd build/site/pages && find . -name '*.md' | sed 's|^./||') | sort | comm -13 build/site/placed - >build/site/lost
[ ! -s build/site/lost ] || {
    echo "site: site/mkdocs.yml: nav has no place for $(tr '\n' ' ' <build/site/lost)" >&2
    exit 2
}
mkdocs build --config-file site/mkdocs.yml >build/site/log 2>&1 || {
    grep -v '^INFO' build/site/log >&2
    exit 2
}
echo "site: $(find build/site/html -name '*.html' | wc -l) pages: build/site/html/index.html"
echo "      for the search: python3 -m http.server -d build/site/html, and http://localhost:8000"

#!/bin/sh
# The site and the release: what is said where something is missing, and that they work where nothing is.
. tests/shell.sh

# ---- make site -------------------------------------------------------------------------------

needs "mkdocs and its material theme (make deps)" mkdocs --version
run sh site/build.sh
expect "make site builds every page without a warning" 0 "^site: [0-9]* pages"
pages=build/site/html
if grep -q 'href="results/HEADLINE.html"\|href="results/pages/HEADLINE.html"' $pages/index.html; then
    pass "a page that another names is a link"
else
    fail "a page that another names is a link" "index.html has none to HEADLINE"
fi
if grep -rlE '<(script|link|img)[^>]*(src|href)="https?://' $pages --include='*.html' >"$folder/foreign"; then
    fail "nothing is loaded from elsewhere" "$(head -n 3 "$folder/foreign")"
else
    pass "nothing is loaded from elsewhere"
fi
git clone -q . "$folder/clone" 2>/dev/null
cp site/* "$folder/clone/site/" 2>/dev/null || cp -r site "$folder/clone/"
echo '# No place' >"$folder/clone/results/LOST.md"
run sh "$folder/clone/site/build.sh"
expect_refusal "a page without a place is refused" "site/mkdocs.yml: nav has no place for results/LOST.md"
echo '![x](none.svg)' >"$folder/clone/results/LOST.md"
sed -i 's|^nav:|&\n  - lost: results/LOST.md|' "$folder/clone/site/mkdocs.yml"
run sh "$folder/clone/site/build.sh"
if [ "$status" -eq 2 ] && grep -q 'WARNING.*none.svg' "$folder/err"; then
    pass "a picture that leads nowhere is refused"
else
    explain "a picture that leads nowhere is refused" "status 2, and a warning that names none.svg"
fi

# ---- make release ----------------------------------------------------------------------------

# ready: a repository with what release.sh reads, ready to be released today.
today=$(date +%F)
tree=$folder/tree
mkdir -p "$tree/.ci"
cp .ci/release.sh "$tree/.ci/"
printf 'version: 9.9.9\ndate-released: %s\n' "$today" >"$tree/CITATION.cff"
printf '# What changed\n\n## 9.9.9, not released\n' >"$tree/CHANGELOG.md"
as() { git -C "$tree" -c user.name=a -c user.email=a@example.org "$@"; }
as init -q
as add -A
as commit -q -m begin
released() { run env GIT_AUTHOR_NAME=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org PACKAGES=no sh -c "cd '$tree' && exec sh .ci/release.sh"; }
released
expect_refusal "a version that CHANGELOG.md has not dated is refused" "not released\"; CITATION.cff has version 9.9.9 of $today"
sed -i "s/not released/$today/" "$tree/CHANGELOG.md"
released
expect_refusal "a tree that is not clean is refused" "the tree is not clean"
as commit -q -a -m date
released
expect "a version that is ready has its tag" 0 "^release: set the tag v9.9.9"
released
expect_refusal "a second time is refused" "the tag v9.9.9 is there"
sed -i 's/^version: .*/version: 9.9.10/; s/^date.*/date-released: 2001-01-01/' "$tree/CITATION.cff"
sed -i 's/^## 9.9.9, .*/## 9.9.10, 2001-01-01/' "$tree/CHANGELOG.md"
as commit -q -a -m old
released
expect_refusal "another day is refused" "date-released is 2001-01-01; today is $today"
finish

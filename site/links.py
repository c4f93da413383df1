"""Makes links of the names of pages. In the repository a page names another as code, by its path from
the root; on the site that name is a link."""

import os
import re

NAME = re.compile(r"`([A-Za-z0-9_./-]+\.md)`(?!\])")
FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)


def on_page_markdown(markdown, page, config, files):
    here = os.path.dirname(page.file.src_path)

    def link(match):
        name = match[1]
        for path in (name, os.path.normpath(os.path.join(here, name))):
            if files.get_file_from_path(path):
                return f"[`{name}`]({os.path.relpath(path, here or '.')})"
        return match[0]

    parts = FENCE.split(markdown)
    return "".join(part if part.startswith("```") else NAME.sub(link, part) for part in parts)

"""A hook of MkDocs: links that leave `docs/` lead to the repository, which a site has not."""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath
from typing import Any

_OUTSIDE = re.compile(r"\]\((\.\./[^)\s]+)\)")


def github_anchor(heading: str, separator: str) -> str:
    """Return GitHub's anchor of a heading, since links are written for pages on GitHub."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", separator)


def on_config(config: Any) -> Any:
    """Give headings the anchors that they have on GitHub."""
    config.mdx_configs["toc"] = {**config.mdx_configs.get("toc", {}), "slugify": github_anchor}
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, **_: object) -> str:
    """Rewrite links to files of the repository beside `docs/`."""
    folder = PurePosixPath("docs", page.file.src_uri).parent

    def in_repository(link: re.Match[str]) -> str:
        target = os.path.normpath(folder / link[1])
        if target.startswith("docs/"):
            return link[0]
        return f"]({config.repo_url.rstrip('/')}/blob/main/{target})"

    return _OUTSIDE.sub(in_repository, markdown)

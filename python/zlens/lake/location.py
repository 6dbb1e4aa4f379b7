"""The lake at a location: a folder, or a URL of object storage."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from zlens.lake.file_names import has_manifest, is_url

if TYPE_CHECKING:
    from zlens.lake.lake_folder import LakeFolder


def is_lake(path: str | os.PathLike[str]) -> bool:
    """Return whether a folder or URL contains a zlens manifest, valid or not."""
    if not is_url(path):
        return has_manifest(path)
    from zlens.lake import object_store

    return object_store.open_remote(os.fspath(path)).refresh_manifest()


def open_folder(path: str | os.PathLike[str]) -> LakeFolder:
    """Open the lake in a folder or at a URL."""
    # Every command asks whether its inputs are lakes; few open one.
    from zlens.lake import lake_folder, object_store

    return object_store.open_remote(os.fspath(path)) if is_url(path) else lake_folder.LakeFolder(path)

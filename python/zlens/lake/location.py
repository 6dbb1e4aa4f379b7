"""The lake at a location: a folder, or a URL of object storage."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from zlens.errors import InputError
from zlens.lake.file_names import has_manifest, is_url
from zlens.schema.wording import phrase

if TYPE_CHECKING:
    from zlens.lake.lake_folder import LakeFolder


def is_lake(path: str | os.PathLike[str]) -> bool:
    """Return whether a folder or URL contains a zlens manifest, valid or not."""
    if not is_url(path):
        return has_manifest(path)
    from zlens.lake import object_store

    return object_store.open_remote(os.fspath(path)).refresh_manifest()


def open_folder(path: str | os.PathLike[str]) -> LakeFolder:
    """Open the lake in a folder or at a URL, which may not exist yet."""
    # Every command asks whether its inputs are lakes; few open one.
    from zlens.lake import lake_folder, object_store

    return object_store.open_remote(os.fspath(path)) if is_url(path) else lake_folder.LakeFolder(path)


def open_lake(path: str | os.PathLike[str]) -> LakeFolder:
    """Open an existing lake. Raises InputError if there is none."""
    if not is_lake(path):
        raise InputError("this is not a lake", file=os.fspath(path), cure=phrase("lake_make"))
    return open_folder(path)

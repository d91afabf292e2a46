"""Files that are written whole or not at all."""

import os
import secrets
from pathlib import Path


def write_whole(files: dict[Path, str | bytes]) -> None:
    """Writes files so that none appears before all are complete.

    Args:
        files: Path -> content; texts are written in UTF-8.

    Raises:
        OSError: A file cannot be written; nothing half-written stays behind.
    """
    temporary = {}
    try:
        for path, content in files.items():
            # An ordinary `open`, so that the file's permissions are those of any other file.
            temporary[path] = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
            with open(temporary[path], "xb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
        for path, complete in temporary.items():
            os.replace(complete, path)
    finally:
        for rest in temporary.values():
            rest.unlink(missing_ok=True)

"""Checksums ("seals") of stored states, which reveal damage and accidental edits."""

import json
from hashlib import blake2b

from dpjax.core.types import JsonObject


def seal_of(content: JsonObject) -> str:
    """Return a checksum of JSON values, which does not depend on the order of their names.

    Anybody can compute the checksum, so a matching checksum does not prove that dpjax wrote the
    values.
    """
    text = json.dumps(content, sort_keys=True)
    return blake2b(text.encode(), digest_size=16).hexdigest()

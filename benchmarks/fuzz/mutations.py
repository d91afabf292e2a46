"""Random mutations of the bytes of a file and of the values of a JSON document."""

import copy
import json
import random
import re
import struct
from typing import Any

NUMBERS = [0, 1, 2, 7, 255, 2**15, 2**16, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**62, 2**63, 10**12]
"""Sizes and counts that often cause errors in programs."""

TEXTS = [
    *(b"nan", b"inf", b"-0.0", b"1e999", b"1e-999", b"1_0", b"0x10", b"1,5", b"+1", b"--1", b""),
    *(b"\0", b"\r", b"\n", b"\r\n", b"\r\r\n", b"\n\n", b" ", b"\t", b",", b";", b'"', b"'", b"#"),
    *(
        b"\xff",
        b"\xef\xbb\xbf",
        "é".encode(),
        "\u00a0".encode(),
        "\u0661".encode(),
        b"\xed\xa0\x80",
    ),
    *(b"[/red]", b"$x$", b"<script>", b"\x1b[31m", b"__import__('os')", b"os:system", b"None"),
    *(b"[" * 600, b"{" * 600, b"(" * 600, b"9" * 400, b"a" * 5000, b"true", b"null", b"1e12"),
]
"""Pieces of text that parsers interpret in different ways."""

VALUES: list[Any] = [
    *(None, True, -1, 0, 3, 2**31, 2**70, 1e12, 1e308, 0.5, float("nan"), float("inf")),
    *("", "a", "\0", "[/red]", "os:system", "subprocess:Popen", "laplace", "standard", "local"),
    *([], {}, [[]], [0, 1], [[0, 1]], {"low": 0, "high": 1}, {"epsilon": 1.0}, ["a"], [None]),
]
"""Values of many types."""


def mutated(content: bytes, source: random.Random) -> bytes:
    """Apply one to four changes to the content of a file.

    Args:
        content: Content of the file.
        source: Random generator that determines the changes.
    """
    changed = bytearray(content)
    for _ in range(source.choice([1, 1, 1, 2, 3, 4])):
        _change(changed, source)
    return bytes(changed)


def _change(content: bytearray, source: random.Random) -> None:
    size = len(content)
    # Change the beginning and the end more often, because they determine how the rest is read.
    places = [source.randrange(size + 1), min(source.randrange(200), size)]
    places.append(max(size - source.randrange(200), 0))
    at = source.choice(places)
    length = source.choice([1, 1, 2, 4, 8, 32, 200])
    match source.randrange(9):
        case 0:
            for place in range(at, min(at + source.choice([1, 1, 1, 4]), size)):
                content[place] ^= 1 << source.randrange(8)
        case 1:
            content[at : at + length] = source.randbytes(length)
        case 2:
            del content[at : at + length]
        case 3:
            del content[at:]
        case 4:
            content[at:at] = content[at : at + length] * source.choice([1, 2, 20])
        case 5:
            other = source.randrange(size + 1)
            content[at : at + length] = content[other : other + length]
        case 6:
            form, mask = source.choice([("<i", 2**32 - 1), ("<q", 2**64 - 1), (">i", 2**32 - 1)])
            number = struct.pack(form.upper(), source.choice(NUMBERS) & mask)
            content[at : at + len(number)] = number
        case 7:
            found = [*re.finditer(rb"\d+", content)][:400]
            if found:
                start, stop = source.choice(found).span()
                content[start:stop] = str(source.choice(NUMBERS)).encode()
        case 8:
            content[at:at] = source.choice(TEXTS)


def mutated_values(content: Any, source: random.Random) -> Any:
    """Apply one to three changes to a JSON value.

    A change replaces a value, deletes a value, or adds a key that may be invalid.

    Args:
        content: Value to change.
        source: Random generator that determines the changes.
    """
    changed = json.loads(json.dumps(content))
    for _ in range(source.choice([1, 1, 2, 3])):
        place = changed
        while True:
            keys = [*place] if isinstance(place, dict) else [*range(len(place))]
            if not keys:
                break
            key = source.choice(keys)
            inner = place[key]
            if isinstance(inner, dict | list) and inner and source.random() < 0.7:
                place = inner
                continue
            match source.randrange(6):
                case 0:
                    del place[key]
                case 1 if isinstance(place, dict):
                    place[source.choice(["x", "", "grid", "pairs", "options"])] = copy.deepcopy(
                        inner
                    )
                case _:
                    place[key] = copy.deepcopy(source.choice(VALUES))
            break
    return changed

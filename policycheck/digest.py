"""sha256 without OpenSSL: loading that takes 2 ms, as long as reading and hashing ten files.

The standard library does the same for its random numbers (``random.py``).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # Python 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:  # another Python than CPython
            from hashlib import sha256

__all__ = ["sha256"]

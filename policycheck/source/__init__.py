"""Text, documents and positions: bytes in, values and spans out."""

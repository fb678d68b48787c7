"""Claims about a cluster, their verdicts, and the certificate."""

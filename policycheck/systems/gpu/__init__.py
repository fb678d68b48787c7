"""GPUs as nodes publish them: labels, resource names, MIG, sharing, instance types."""

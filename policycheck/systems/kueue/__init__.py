"""Kueue: quota, queues, cohorts, and the decision that its scheduler takes."""

"""Why a workload waits, and what would let it in: questions to the decision, asked again and again."""

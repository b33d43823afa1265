"""Tables behind answers, drawn from their posterior: each answer as a mean of products of independent tables."""

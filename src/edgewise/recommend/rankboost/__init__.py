"""RankBoost for each user: others' ratings are the ranking features (Iyer 1999 section 5.2)."""

"""Plans that somebody else drew up, with mistakes: repaired, against planning from scratch."""

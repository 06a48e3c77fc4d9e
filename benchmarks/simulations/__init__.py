"""Monte-Carlo tree search against exact solutions of uncertain problems, and against A* where all is certain."""

"""What is odd about a world, without running anything."""

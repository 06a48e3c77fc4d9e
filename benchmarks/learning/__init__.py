"""What runs cost that learn how reliable their tools are, one after the other."""

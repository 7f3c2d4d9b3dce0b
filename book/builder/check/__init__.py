"""What must hold of texts and notebooks, without executing anything."""

"""What makes and checks the book."""

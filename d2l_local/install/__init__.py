"""What is installed, what to type to install it, and set-up itself."""

"""What a cell says to its reader."""

"""What the machine is and has: knows no framework, needs no package."""

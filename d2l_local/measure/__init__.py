"""Times, timelines and their pictures: knows no framework."""

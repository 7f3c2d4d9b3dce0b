"""Times, timelines and their pictures, whatever the framework."""

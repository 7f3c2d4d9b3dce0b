"""What all rooms need to know: arguments, languages, frameworks, functions' texts, processes."""

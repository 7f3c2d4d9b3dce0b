"""Older editions of the chapter, and the rest of d2l: nothing here is about this one."""

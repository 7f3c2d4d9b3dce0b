"""What makes and checks the book: notebooks (`builder`), web edition (`web`), drawings (`figures`).

Of `d2l_local` it stands on the two lowest floors, and needs no framework: kernels execute the
notebooks, in processes of their own.
"""

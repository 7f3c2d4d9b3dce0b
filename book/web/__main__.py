"""`python -m book.web` builds the site, see `build.py`."""

import sys

from book.web.build import main

sys.exit(main())

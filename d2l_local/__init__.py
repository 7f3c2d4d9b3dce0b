"""The helper package of the chapter: ``from d2l_local import mxnet as d2l``, or ``torch``.

Its floors from the ground up; a module imports from its own room and from the floors below:

- `base`: what arguments, languages and frameworks there may be, the text of functions, processes;
- `machine`, `measure`, `data`: what this machine has, times and timelines, Fashion-MNIST;
- `install`, `simulate`, `lesson`, `answers`: what is installed, hardware that the reader lacks,
  what a cell says to its reader, and the checks of the exercises, which the builder writes;
- `shared`, `prepare_mxnet`, `backend`: the names of all backends that know no framework, what makes
  MXNet importable and fast, and what a framework must define for a notebook to call;
- `mxnet`, `torch`: the backends, which stand in for ``d2l.mxnet`` and ``d2l.torch``;
- `doors`, `colab`, `drafts`: doors for readers: into JupyterLab, in trouble, without the notebooks,
  on Colab, or with older editions.

Importing the package itself loads nothing.
"""

__version__ = "0.1.0"

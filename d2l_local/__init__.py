"""The helper package of the chapter: ``from d2l_local import mxnet as d2l``, or ``torch``.

Its floors from the ground up; a module imports from its own room and from the floors below:

- `arguments`, `definitions`, `frameworks`, `language`: what arguments, frameworks and languages
  there may be, and the text of functions and classes;
- `machine`, `processes`: what this machine has, and what runs on it;
- `measure`, `data`, `hosts`: times and timelines, Fashion-MNIST, and hosts made of this machine;
- `prepare`: what makes MXNet importable and fast;
- `assertion`, `face`, `exercise`, `law`, `links`: what all frameworks share of the names that a
  notebook calls;
- `trials`: ways to train over such links, held against one device;
- `mxnet`, `torch`: the faces, which stand in for ``d2l.mxnet`` and ``d2l.torch``;
- `install`, `lab`, `preflight`, `notebooks`, `colab`, `drafts`: doors for readers: in a new clone,
  into JupyterLab, in trouble, without the notebooks, on Colab, or with older editions.

Importing the package itself loads nothing.
"""

__version__ = "0.1.0"

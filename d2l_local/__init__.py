"""The helper package of the chapter: ``from d2l_local import mxnet as d2l``.

``d2l_local.mxnet`` stands in for ``d2l.mxnet``; everything else is a module that it is made of.
Importing the package itself loads nothing.
"""

__version__ = "0.1.0"

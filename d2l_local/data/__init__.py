"""Fashion-MNIST for a reader with any machine: with a network, without one, or with own files.

Framework-free: batches are NumPy arrays until the ``convert`` function that a framework's module
passes makes that framework's arrays of them.

The images come from the first of these that has them, and a printed line says which:

1. the folder that the environment variable ``D2L_DATA`` names;
2. Debian's and Ubuntu's package ``dataset-fashion-mnist``, in `sources.DEBIAN`;
3. Gluon's cache, ``$MXNET_HOME/datasets/fashion-mnist`` (``~/.mxnet/...`` by default), or Keras's;
4. one of several mirrors, which then fill Gluon's cache;
5. scikit-learn's bundled handwritten digits, enlarged to 28x28.

A file is Fashion-MNIST's if its unpacked content is, whoever packed it.

Sources: Fashion-MNIST is by Xiao, Rasul and Vollgraf (2017),
https://github.com/zalandoresearch/fashion-mnist; the digits are the test part of the UCI data set
"Optical Recognition of Handwritten Digits".
"""

from d2l_local.data.loader import ArrayDataLoader, load_data_fashion_mnist
from d2l_local.data.sources import Dataset, digits, fashion_mnist, from_folder, stored_in

__all__ = [
    "ArrayDataLoader",
    "Dataset",
    "digits",
    "fashion_mnist",
    "from_folder",
    "load_data_fashion_mnist",
    "stored_in",
]

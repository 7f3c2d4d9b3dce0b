"""Fashion-MNIST for a reader with any machine: a sample at once, and all of it for those who ask.

Framework-free: batches are NumPy arrays until the ``convert`` function that a framework's module
passes makes that framework's arrays of them.

A printed line says which images are in use. The environment variable ``D2L_DATA`` decides:

- nothing: the sample in the package (`sample`), 12,000 images to train and 2,000 to test with, the
  same on every machine;
- ``full``: all 60,000 and 10,000, from one of several mirrors. They are kept for the next time in
  ``d2l-local`` in the folder that ``XDG_CACHE_HOME`` names, by default ``~/.cache``;
- a folder: the four files in it.

A file is Fashion-MNIST's if its unpacked content is, whoever packed it.

Source: Fashion-MNIST is by Xiao, Rasul and Vollgraf (2017), © Zalando SE, under the MIT license,
https://github.com/zalandoresearch/fashion-mnist.
"""

from d2l_local.data.loader import ArrayDataLoader, load_data_fashion_mnist
from d2l_local.data.sources import Dataset, fashion_mnist, from_folder, of_the_package

__all__ = [
    "ArrayDataLoader",
    "Dataset",
    "fashion_mnist",
    "from_folder",
    "load_data_fashion_mnist",
    "of_the_package",
]

"""Fashion-MNIST for a reader with any machine: with a network, without one, or with own files.

Framework-free: batches are NumPy arrays until the ``convert`` function that a framework's module
passes makes that framework's arrays of them.

The images come from the first of these that has them, and a printed line says which:

1. the folder that the environment variable ``D2L_DATA`` names;
2. Gluon's cache, ``$MXNET_HOME/datasets/fashion-mnist`` (``~/.mxnet/...`` by default), filled
   from one of several mirrors where it lacks a file;
3. scikit-learn's bundled handwritten digits, enlarged to 28x28.

Sources: Fashion-MNIST is by Xiao, Rasul and Vollgraf (2017),
https://github.com/zalandoresearch/fashion-mnist; the digits are the test part of the UCI data set
"Optical Recognition of Handwritten Digits".
"""

import contextlib
import functools
import getpass
import gzip
import hashlib
import math
import operator
import os
import queue
import shutil
import sys
import tempfile
import threading
import time
import warnings
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

# The names of Gluon's cache and their SHA-1 sums, from mxnet/gluon/data/vision/datasets.py.
FILES = {
    "train-images-idx3-ubyte.gz": "0cf37b0d40ed5169c6b3aba31069a9770ac9043d",
    "train-labels-idx1-ubyte.gz": "236021d52f1e40852b06a4c3008d8de8aef1e40b",
    "t10k-images-idx3-ubyte.gz": "626ed6a7c06dd17c0eec72fa3be1740f146a2863",
    "t10k-labels-idx1-ubyte.gz": "17f9ab60e7257a1620f4ad76bbbaf857c3920701",
}
# Where a file's name is appended. The checksums make plain HTTP acceptable for Zalando's bucket.
MIRRORS = (
    "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/gluon/dataset/fashion-mnist/",
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
)
PROBE_SECONDS = 6  # How long all mirrors together have to give a first sign of life
SILENT_SECONDS = 60  # How long mirrors that gave none are not asked again
TIMEOUT = (4, 10)  # Seconds to connect, and to wait for each next piece of a file
SLOWEST = 10_000  # Bytes per second, on average after TIMEOUT: a trickle would never end
LARGEST = 2**25  # Bytes: the largest of the files has 26 million, an endless answer has more
REDIRECTS = 5
SCRATCH = "d2l-download-"  # Begins the name of a folder in the cache where a download grows
SCRATCH_SECONDS = 24 * 3600  # Older than that, it is what a killed process left behind
DIGITS_FOR_TESTING = 297  # Of 1,797: the digits then split 5 to 1, nearly as Fashion-MNIST does


class Dataset(NamedTuple):
    """A data set in memory, and where it is from.

    Images are uint8 arrays of shape (n, 28, 28), black 0 and white 255; labels are int32 arrays of
    shape (n,). ``origin`` describes the set in one line. ``stands_in`` is true for the digits.
    """

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    origin: str
    stands_in: bool = False


class ArrayDataLoader:
    """Minibatches of images and labels that are already in memory; no worker processes.

    - ``images``: uint8 array of shape (n, height, width), black 0 and white 255.
    - ``labels``: integer array of shape (n,).
    - ``batch_size``: positive int. The last batch is smaller if this does not divide n.
    - ``resize``: None, a positive int (square images) or a pair (width, height), as in Gluon's
      ``transforms.Resize``; bilinear.
    - ``shuffle``: whether each pass, or epoch, has an order of its own. It depends on ``seed`` and
      the number of the epoch only: loaders with equal seeds give equal orders.
    - ``seed``: int from 0 to 2**32 - 1.
    - ``convert``: makes the array to hand out from a NumPy array; by default that array itself. It
      may keep the memory: no batch shares any with another.

    Iterating gives pairs (X, y), as ``convert`` makes them of X, float32 in [0, 1] of shape
    (b, 1, height, width), and y, int32 of shape (b,). ``len(loader)`` is the number of batches. An
    argument out of bounds raises ``ValueError``.
    """

    # Kept as uint8 and scaled batch by batch: 5 million images/s on one core (60,000 images, batch
    # 256, NumPy 2.4), against 3.7 million from a float32 array, which is four times the size.

    def __init__(
        self, images, labels, batch_size, *, resize=None, shuffle=False, seed=0, convert=None
    ):
        self.images = np.asarray(images)
        self.labels = np.asarray(labels)
        if self.images.ndim != 3 or self.images.dtype != np.uint8:
            raise ValueError(
                "images must be a uint8 array of shape (n, height, width), not "
                f"{self.images.dtype} of shape {self.images.shape}"
            )
        if self.labels.shape != self.images.shape[:1]:
            raise ValueError(
                f"labels must have shape ({len(self.images)},), one for each image, "
                f"not {self.labels.shape}"
            )
        if self.labels.dtype.kind not in "iu":
            raise ValueError(f"labels must be integers, not {self.labels.dtype}")
        self.labels = self.labels.astype(np.int32)
        self.batch_size = _positive_int("batch_size", batch_size)
        self.resize = _size(resize)
        self.shuffle = shuffle
        self.seed = _seed(seed)
        self.convert = convert or np.asarray
        self.epoch = 0

    def __len__(self):
        return -(-len(self.images) // self.batch_size)

    def __iter__(self):
        # Ordered here and not in the generator, so that the epochs count in the order in which
        # iterators are made, whenever their first batch is asked for.
        order = np.arange(len(self.images))
        if self.shuffle:
            # RandomState and not default_rng: NumPy promises that its stream never changes.
            order = np.random.RandomState([self.seed, self.epoch]).permutation(order)
        self.epoch += 1
        return self._batches(order)

    def _batches(self, order):
        for start in range(0, len(order), self.batch_size):
            chosen = order[start : start + self.batch_size]
            X = self.images.take(chosen, axis=0)
            if self.resize:
                X = _bilinear(X, *self.resize)
            X = np.divide(X[:, np.newaxis], 255, dtype=np.float32)
            yield self.convert(X), self.convert(self.labels.take(chosen))


def load_data_fashion_mnist(
    batch_size, resize=None, *, train_size=None, test_size=None, seed=0, convert=None
):
    """Return iterators over the training and the test images of Fashion-MNIST, or a stand-in.

    Prints a line that says which data set is in use; see the top of this module for the choice.

    - ``batch_size``, ``resize``, ``seed``, ``convert``: as in `ArrayDataLoader`.
    - ``train_size``, ``test_size``: None for all images, or how many of the first ones to use, at
      most 60,000 and 10,000 of Fashion-MNIST. The digits are 1,500 and 297: where they stand in, a
      larger number gives them all and a printed note, so that a notebook that runs with
      Fashion-MNIST also runs without a network.

    Returns (train_iter, test_iter), two `ArrayDataLoader`; only the first one shuffles.

    Raises ``ValueError`` if an argument is out of bounds or a file in ``D2L_DATA`` is malformed,
    ``FileNotFoundError`` if that is no folder or lacks a file, ``PermissionError`` if it may not be
    read, and ``RuntimeError`` without mirror, cache and scikit-learn.
    """
    _positive_int("batch_size", batch_size)  # Before a download, not after it
    _size(resize)
    _seed(seed)
    for name, size in (("train_size", train_size), ("test_size", test_size)):
        if size is not None:
            _positive_int(name, size)

    data = load_dataset()
    num_train = _how_many("train_size", train_size, len(data.train_images), data)
    num_test = _how_many("test_size", test_size, len(data.test_images), data)
    _say(f"Data: {data.origin}; {num_train:,} training and {num_test:,} test images")
    loader = functools.partial(
        ArrayDataLoader, batch_size=batch_size, resize=resize, convert=convert
    )
    return (
        loader(
            data.train_images[:num_train], data.train_labels[:num_train], shuffle=True, seed=seed
        ),
        loader(data.test_images[:num_test], data.test_labels[:num_test]),
    )


def load_dataset():
    """Return the `Dataset` that this machine can have; errors as `load_data_fashion_mnist`."""
    folder = os.environ.get("D2L_DATA")
    if folder:
        return from_folder(folder)
    try:
        return fashion_mnist()
    except _UnavailableError as reason:
        return digits(reason)


def from_folder(folder):
    """Return the `Dataset` in a local folder: Fashion-MNIST or another one in the same format.

    The folder holds the four files that `FILES` names, packed (.gz) or not, in the IDX format of
    http://yann.lecun.com/exdb/mnist/. Another data set than Fashion-MNIST is used as it is; the
    line that describes it says that the checksums differ.

    Raises ``FileNotFoundError`` without the folder or one of the files, ``PermissionError`` if they
    cannot be read, and ``ValueError`` for a file that is truncated or not what its name says.
    """
    folder = Path(os.path.expanduser(folder))
    named = f"D2L_DATA names {str(folder)!r}"
    cure = "unset D2L_DATA to have Fashion-MNIST downloaded"
    try:
        if not folder.is_dir():
            raise FileNotFoundError(f"{named}, which is not a folder; correct it, or {cure}")
        paths = {name: _packed_or_not(folder, name) for name in FILES}
        missing = [name for name, path in paths.items() if path is None]
        if missing:
            raise FileNotFoundError(
                f"{named}, which lacks {', '.join(missing)} (with or without .gz); "
                f"put them there, or {cure}"
            )
        contents = {name: path.read_bytes() for name, path in paths.items()}
    except PermissionError as error:
        raise PermissionError(
            f"{named}, but you may not read {error.filename}; change its permissions, or {cure}"
        ) from error
    arrays = _arrays({paths[name]: content for name, content in contents.items()})
    last_label = max(arrays[1].max(), arrays[3].max())
    differing = [name for name in FILES if not _is_good(contents[name], name)]
    if any(paths[name].suffix == ".gz" for name in differing):
        kind = "images (not Fashion-MNIST: checksum differs)"
    elif differing:
        kind = "unpacked images (checksums are known for .gz files only)"
    else:
        kind = "Fashion-MNIST"
    if last_label > 9:  # MXNet's loss would quietly take such a label for the last class
        kind += f" with labels up to {last_label}, for which 10 classes are too few,"
    return Dataset(*arrays, f"{kind} from {_tilde(folder)} (D2L_DATA)")


def fashion_mnist():
    """Return Fashion-MNIST as a `Dataset`, from Gluon's cache or else from a mirror.

    A file in the cache whose checksum is wrong is named and fetched again. Where Gluon's folder
    cannot be written to, a folder of the user's beside other temporary files takes its place.
    """
    folders = _cache_folders()
    targets = list(folders)  # Those that could be written to so far
    mirrors = None
    contents = {}
    for name in FILES:
        found = _cached(name, folders)
        if found is None:
            if mirrors is None:  # The first file to fetch
                mirrors = _mirrors_by_answer(name)
            found = _download(name, mirrors, targets)
        path, contents[path] = found
    where = " and ".join(dict.fromkeys(_tilde(path.parent) for path in contents))
    return Dataset(*_arrays(contents), f"Fashion-MNIST from {where}")


def stored_in():
    """Return the folders that Fashion-MNIST is in already, or none if a file must be fetched."""
    found = [_cached(name, _cache_folders()) for name in FILES]
    return [] if None in found else list(dict.fromkeys(_tilde(path.parent) for path, _ in found))


def digits(reason):
    """Return scikit-learn's 1,797 digits as a `Dataset`: 10 classes, enlarged from 8x8 to 28x28.

    The split is fixed and takes the same share of each class. ``reason`` says, in the line that
    describes the data set, why it stands in. Raises ``RuntimeError`` without scikit-learn.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise RuntimeError(
            f"Fashion-MNIST cannot be had: {reason}; and scikit-learn, whose digits would stand "
            f"in for it, cannot be imported ({error}). Connect to a network, name a folder with "
            "the four files in D2L_DATA, or run `pip install scikit-learn`."
        ) from error
    images, labels = load_digits(return_X_y=True)
    images = _bilinear(images.reshape(-1, 8, 8) * (255 / 16), 28, 28)  # Gray levels are 0...16
    images, labels = images.astype(np.uint8), labels.astype(np.int32)
    # Every sixth of the images sorted by class, so that each class gives its share; both parts
    # keep the original order, in which the classes alternate, so that the first n are balanced.
    steps = np.arange(DIGITS_FOR_TESTING) * len(labels) // DIGITS_FOR_TESTING
    test = np.zeros(len(labels), dtype=bool)
    test[np.argsort(labels, kind="stable")[steps]] = True
    origin = f"handwritten digits of scikit-learn in place of Fashion-MNIST ({reason})"
    return Dataset(images[~test], labels[~test], images[test], labels[test], origin, True)


# Arguments


def _int(value):
    """Return an integer of any type as an int, and -1 for anything else: True, 256.0, "256"."""
    try:
        return -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return -1


def _positive_int(name, value):
    number = _int(value)
    if number < 1:
        raise ValueError(f"{name} must be a positive integer, not {value!r}")
    return number


def _seed(value):
    number = _int(value)
    if not 0 <= number < 2**32:
        raise ValueError(f"seed must be an integer from 0 to 2**32 - 1, not {value!r}")
    return number


def _size(resize):
    """Return the (height, width) that the argument ``resize`` asks for, or None."""
    if resize is None:
        return None
    pair = resize if isinstance(resize, (tuple, list)) else (resize, resize)
    try:
        width, height = (_positive_int("resize", side) for side in pair)
    except ValueError:
        raise ValueError(
            "resize must be None, a positive integer or a pair (width, height) of them, "
            f"not {resize!r}"
        ) from None
    return height, width


def _say(line):
    if os.environ.get("RANK", "0") == "0":  # Of torchrun's processes one says it for all
        print(line)


def _how_many(name, asked, available, data):
    if asked is None:
        return available
    if asked <= available:
        return operator.index(asked)
    if data.stands_in:
        _say(f"Note: {name}={asked:,}, but there are only {available:,} digits; using them all")
        return available
    raise ValueError(
        f"{name} must be None or from 1 to {available:,}, the number of images in use "
        f"({data.origin}), not {asked:,}"
    )


# Pixels


def _bilinear(images, height, width):
    """Return images of shape (n, h, w) as float32 of shape (n, height, width), whole gray levels.

    Pixel centers are aligned and edges repeated, without averaging when an image shrinks: what
    OpenCV's INTER_LINEAR does, and so Gluon's ``transforms.Resize``.
    """
    # Two matrix products: 110,000 images/s to 96x96 on one core, 5 times as many as by indexing.
    by_rows = _weights(images.shape[1], height)
    by_columns = _weights(images.shape[2], width)
    images = by_rows @ (images.astype(np.float32) @ by_columns.T)
    return np.rint(images, out=images)


def _weights(old, new):
    """Return the (new, old) float32 matrix that interpolates a line of ``old`` pixels."""
    at = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    low = at.astype(int)
    weights = np.zeros((new, old), dtype=np.float32)
    weights[np.arange(new), low] = 1 - (at - low)
    weights[np.arange(new), np.minimum(low + 1, old - 1)] += at - low
    return weights


# Files


def _arrays(contents):
    """Parse four files' bytes, keyed by path and in the order of `FILES`, into four arrays."""
    paths = list(contents)
    parts = []
    for images_path, labels_path in (paths[:2], paths[2:]):
        images = _parse_idx(images_path, contents[images_path])
        labels = _parse_idx(labels_path, contents[labels_path])
        if images.shape[1:] != (28, 28) or not len(images):
            raise ValueError(
                f"{images_path} should hold images of 28x28 pixels, but holds an array of shape "
                f"{images.shape}; replace the file"
            )
        if labels.shape != images.shape[:1]:
            raise ValueError(
                f"{images_path} holds {len(images):,} images, but {labels_path} has labels of "
                f"shape {labels.shape}; replace the file that does not belong here"
            )
        parts += [images, labels.astype(np.int32)]
    return parts


def _parse_idx(path, content):
    """Return the uint8 array in an IDX file: 0, 0, type, dimensions, big-endian sizes, data."""
    content = _unpack(path, content)
    if content[:3] != b"\0\0\x08" or len(content) < 4:
        raise ValueError(
            f"{path} is not an IDX file of bytes: it begins with {content[:4]!r} instead of "
            "b'\\x00\\x00\\x08' and the number of dimensions; replace the file"
        )
    start = 4 + 4 * content[3]
    shape = tuple(int.from_bytes(content[i : i + 4], "big") for i in range(4, start, 4))
    expected = start + math.prod(shape)
    if len(content) != expected:
        raise ValueError(
            f"{path} should have {expected:,} bytes (unpacked) for its array of shape {shape}, "
            f"but has {len(content):,}; replace the file"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def _unpack(path, content):
    if path.suffix != ".gz":
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(
            f"{path} ({len(content):,} bytes) is truncated or no gzip file ({error}); "
            "replace the file"
        ) from error


def _packed_or_not(folder, name):
    for path in (folder / name, folder / name[: -len(".gz")]):
        if path.is_file():
            return path
    return None


def _is_good(content, name):
    return hashlib.sha1(content).hexdigest() == FILES[name]


def _tilde(path):
    """Shorten a path below the home folder; committed outputs then show no reader's name."""
    home = os.path.expanduser("~")
    path = str(path)
    return "~" + path[len(home) :] if path.startswith(home + os.sep) else path


# The cache


def _cache_folders():
    """Return Gluon's folder for the files, and one for when that cannot be written to."""
    home = os.environ.get("MXNET_HOME")
    if not home and sys.platform == "win32":
        home = os.path.join(os.environ.get("APPDATA", "~"), "mxnet")
    home = Path(home or os.path.join("~", ".mxnet"))
    folders = []
    with contextlib.suppress(RuntimeError):  # A user without a home, as in some containers
        folders.append(home.expanduser() / "datasets" / "fashion-mnist")
    with contextlib.suppress(OSError):  # Not even a folder for temporary files
        user = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
        folders.append(Path(tempfile.gettempdir()) / f"d2l-{user}" / "fashion-mnist")
    return folders


def _cached(name, folders):
    """Return the path and the bytes of a good file, or None after naming the bad ones."""
    # Checked in memory: what another process does to the file after this cannot matter. A bad file
    # stays where it is until a good one takes its place: a good one is thus never removed, not even
    # one that another process puts there at this moment.
    bad = {}
    for folder in folders:
        path = folder / name
        try:
            content = path.read_bytes()
        except OSError:
            continue
        if _is_good(content, name):
            return path, content
        bad[path] = len(content)
    for path, size in bad.items():
        print(
            f"{_tilde(path)} is truncated or corrupt: {size:,} bytes with a wrong checksum; "
            "fetching it again"
        )
    return None


def _download(name, mirrors, folders):
    """Fetch a file into the first folder that can hold it; return its path and its bytes.

    Takes folders that cannot hold it out of the list, and says so.
    """
    reasons = []
    for folder in list(folders):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _sweep(folder)
            content = _retrieve(name, mirrors, folder)
        except OSError as error:  # The folder's or the disk's; a mirror's are dealt with
            folders.remove(folder)
            reasons.append(f"{_tilde(folder)}: {error.strerror or error}")
            continue
        if reasons:
            print(f"Cannot write to {'; '.join(reasons)}. Caching in {folder} instead.")
        return folder / name, content
    reasons = "; ".join(reasons) or "none could be written to"
    raise _UnavailableError(f"no folder to download to: {reasons}")


def _sweep(folder):
    """Remove what killed downloads left in a folder long ago."""
    for scratch in folder.glob(f"{SCRATCH}*"):
        with contextlib.suppress(OSError):  # Another process may be doing the same
            if time.time() - scratch.stat().st_mtime > SCRATCH_SECONDS:
                shutil.rmtree(scratch)


# Mirrors


class _UnavailableError(Exception):
    """Fashion-MNIST cannot be had; the text says why."""


def _mirrors():
    repository = os.environ.get("MXNET_GLUON_REPO")  # As for Gluon: a reader's own mirror
    if not repository:
        return list(MIRRORS)
    return [repository.rstrip("/") + "/gluon/dataset/fashion-mnist/", *MIRRORS]


_silent = {}  # Mirrors that gave no sign of life: until when not to ask them, and what was said


def _mirrors_by_answer(name):
    """Return the mirrors, the one that answers first in front; raise if none does in time."""
    # All at once and with one limit: behind a firewall that drops packets, each of a mirror's up
    # to eight addresses would cost a time-out of its own, and the mirrors minutes one by one.
    try:
        with warnings.catch_warnings():
            # Without ipywidgets it would say in a notebook that its own progress bar is missing.
            warnings.simplefilter("ignore")
            import pooch  # noqa: F401
        import requests
        import tqdm  # noqa: F401
    except ImportError as error:
        raise _UnavailableError(f"{error}; run `pip install pooch tqdm` to download") from error

    answers = queue.Queue()

    def ask(mirror):
        try:
            requests.head(mirror + name, timeout=TIMEOUT).close()  # Any status is an answer
            answers.put((mirror, None))
        except Exception as error:  # A thread's exception would only be printed
            answers.put((mirror, error))

    mirrors = _mirrors()
    # A notebook may load its data ten times, which would cost a firewalled reader a minute.
    until, reason = _silent.get(tuple(mirrors), (0, None))
    if time.monotonic() < until:
        raise _UnavailableError(reason)
    for mirror in mirrors:
        threading.Thread(target=ask, args=(mirror,), daemon=True).start()
    deadline = time.monotonic() + PROBE_SECONDS
    failures = {}
    while len(failures) < len(mirrors):
        try:
            mirror, error = answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        if error is None:
            mirrors.remove(mirror)
            return [mirror, *mirrors]
        failures[mirror] = _why(error)
    silent = [mirror for mirror in mirrors if mirror not in failures]
    failures.update(dict.fromkeys(silent, f"silence for {PROBE_SECONDS} s"))
    reason = f"no mirror answered: {_summary(failures)}"
    if silent:
        _silent[tuple(mirrors)] = time.monotonic() + SILENT_SECONDS, reason
    raise _UnavailableError(reason)


def _retrieve(name, mirrors, folder):
    """Fetch a file into the folder and return its bytes; keep the mirror that had it in front."""
    import pooch

    pooch.get_logger().setLevel("WARNING")  # Its log would go to stderr, in red in a notebook
    failures = {}
    for mirror in list(mirrors):
        try:
            # What a download that is killed leaves behind has a name that nobody looks for; only
            # after the check does the file move to its place, in one step.
            with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=folder) as scratch:
                path = pooch.retrieve(
                    mirror + name, f"sha1:{FILES[name]}", name, scratch, downloader=_fetch
                )
                content = Path(path).read_bytes()
                os.replace(path, folder / name)
        except _UnavailableError as error:
            failures[mirror] = str(error)
        except ValueError:  # Pooch's for the checksum
            failures[mirror] = "wrong checksum, as of a truncated file or a proxy's HTML page"
        else:
            mirrors.remove(mirror)
            mirrors.insert(0, mirror)
            return content
        print(f"{name} is not to be had from {_host(mirror)}: {failures[mirror]}")
    raise _UnavailableError(f"no mirror gives {name}: {_summary(failures)}")


def _fetch(url, path, pooch):
    """Download a file: a downloader for Pooch. Unlike Pooch's own it ends if a server trickles."""
    from tqdm import tqdm

    # The bar is for a reader who watches. On stdout and wiped in the end, it leaves nothing in an
    # executed notebook, because whatever stores one carries out the carriage returns.
    watched = sys.stdout.isatty() or type(sys.stdout).__module__.startswith("ipykernel.")
    bar = tqdm(
        desc=f"Fetching {url.rpartition('/')[2]}",
        file=sys.stdout,
        leave=False,
        disable=not watched,
        mininterval=0.5,
        ncols=79,
        unit="B",
        unit_scale=True,
    )
    with bar, open(path, "wb") as file:
        for piece in _pieces(url, bar):
            file.write(piece)


def _pieces(url, bar):
    """Yield a mirror's answer as it arrives; raise `_UnavailableError` if it fails or crawls."""
    import requests
    from urllib3.exceptions import HTTPError

    start, received = time.monotonic(), 0
    with requests.Session() as session:
        session.max_redirects = REDIRECTS
        try:
            # Unpacked neither for a server that packs what it sends nor for one that says so.
            headers = {"Accept-Encoding": "identity"}
            response = session.get(url, timeout=TIMEOUT, stream=True, headers=headers)
            response.raise_for_status()
            bar.total = response.raw.length_remaining  # None if the mirror does not say
            # Requests' own iterator waits until a piece is complete, and would wait for ever for a
            # server that sends a byte now and then. (urllib3 has read1 since 2.1.)
            read = getattr(response.raw, "read1", response.raw.read)
            while piece := read(2**16):
                received += len(piece)
                seconds = time.monotonic() - start
                if seconds > sum(TIMEOUT) and received < SLOWEST * seconds:
                    raise _UnavailableError(f"only {received:,} bytes in {seconds:.0f} s")
                if received > LARGEST:
                    raise _UnavailableError(f"more than {LARGEST:,} bytes")
                bar.update(len(piece))
                yield piece
        except (OSError, ValueError, HTTPError) as error:  # OSError includes Requests' errors
            raise _UnavailableError(_why(error)) from error


def _why(error):
    """Say in a few words why a file cannot be had; Requests' own texts fill several lines."""
    from requests import HTTPError

    if isinstance(error, HTTPError):
        return f"HTTP status {error.response.status_code}"
    return getattr(error, "strerror", None) or type(error).__name__


def _host(mirror):
    """Return the host of an address, without a password, or what stands in its place."""
    return mirror.partition("://")[2].partition("/")[0].rpartition("@")[2] or mirror


def _summary(failures):
    """Join the failures of mirrors into one line; one reason that all share suffices."""
    if len(set(failures.values())) == 1:
        return next(iter(failures.values()))
    return ", ".join(f"{_host(mirror)}: {why}" for mirror, why in failures.items())

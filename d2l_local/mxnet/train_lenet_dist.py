"""Train LeNet on one process or on many: ``python -m d2l_local.mxnet.train_lenet_dist``.

Started alone it trains here. With MXNet's ``DMLC_*`` variables set it is part of a distributed
job, and every process of the job, on whatever machine, runs the same command: scheduler and
servers do their work inside the import below and end with the job; workers go on.
"""

from d2l_local import mxnet as d2l  # isort: skip  Scheduler and servers stay in here

import argparse
import faulthandler
import os

from d2l_local.base.language import say

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from mxnet.gluon.utils import split_and_load


def lenet():
    """The LeNet of this chapter, not yet initialized; input (n, 1, 28, 28), output (n, 10)."""
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(20, kernel_size=3, activation="relu"),
        nn.AvgPool2D(2),
        nn.Conv2D(50, kernel_size=5, activation="relu"),
        nn.AvgPool2D(2),
        nn.Dense(128, activation="relu"),
        nn.Dense(10),
    )
    return net


def shard(array, rank, num_workers):
    """The rows of a minibatch that are worker ``rank``'s; sizes differ by one at most.

    ValueError: there are fewer rows than workers.
    """
    n = len(array)
    if n < num_workers:
        raise ValueError(
            f"a minibatch of {n} rows leaves nothing for some of {num_workers} workers"
        )
    return array[rank * n // num_workers : (rank + 1) * n // num_workers]


def train(kv, train_iter, num_epochs, lr, devices, dtype="float32", after_step=lambda: None):
    """Train LeNet together with the other workers of ``kv``; return the network.

    Every worker iterates over the same minibatches and takes its shard of each.
    """
    net = lenet()
    net.cast(dtype)
    net.initialize(mx.init.Xavier(), ctx=devices)
    net(nd.zeros((1, 1, 28, 28), ctx=devices[0], dtype=dtype))  # Now the shapes are known
    params = [param for param in net.collect_params().values() if param.grad_req != "null"]
    loss = gluon.loss.SoftmaxCrossEntropyLoss()

    kv.set_optimizer(mx.optimizer.SGD(learning_rate=lr))  # Goes to the servers
    for key, param in enumerate(params):
        kv.init(key, param.list_data()[0])  # The store keeps what worker 0 has ...
        kv.pull(key, param.list_data())  # ... and everybody begins with that

    for epoch in range(num_epochs):
        total, rows = 0, 0
        for X, y in train_iter:
            X_mine, y_mine = [shard(array, kv.rank, kv.num_workers) for array in (X, y)]
            Xs = split_and_load(X_mine.astype(dtype), devices, even_split=False)
            ys = split_and_load(y_mine, devices, even_split=False)
            with autograd.record():  # Divided by the rows of all workers: the store adds up
                losses = [loss(net(X_), y_).sum() / len(X) for X_, y_ in zip(Xs, ys)]
            autograd.backward(losses)
            for key, param in enumerate(params):
                kv.push(key, param.list_grad(), priority=-key)
                kv.pull(key, param.list_data(), priority=-key)
            total += sum(each.asscalar() for each in losses) * len(X)
            rows += len(y_mine)
            after_step()
        line = "worker {rank} of {workers}, epoch {epoch}: loss {loss:.3f}"
        say(line, rank=kv.rank, workers=kv.num_workers, epoch=epoch + 1, loss=total / rows)
    return net


def main():
    """Parse the command line, train, and let worker 0 save the parameters."""
    parser = argparse.ArgumentParser(description="Train LeNet, alone or in a distributed job")
    parser.add_argument("--batch_size", type=int, default=256, help="rows of all workers together")
    parser.add_argument("--num_epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.2)
    parser.add_argument("--train_size", type=int, help="how many images; default all")
    parser.add_argument("--dtype", default="float32", help="float64 to compare runs")
    parser.add_argument("--kvstore", default="dist_sync", help="dist_sync or dist_async")
    parser.add_argument("--num_devices", type=int, default=1, help="devices of each worker")
    parser.add_argument("--patience", type=float, default=300, help="most seconds for one step")
    parser.add_argument("--save", help="the file for worker 0's parameters")
    args = parser.parse_args()

    # A worker waits for ever for one that is gone. So each step, the first one with the wait for
    # the others' start included, must end in time, or the process ends and says where it was.
    def still_alive():
        faulthandler.dump_traceback_later(args.patience, exit=True)

    still_alive()
    train_iter, _ = d2l.load_data_fashion_mnist(args.batch_size, train_size=args.train_size)
    kv = mx.kv.create(args.kvstore if "DMLC_ROLE" in os.environ else "local")
    mx.random.seed(kv.rank)
    devices = d2l.devices(args.num_devices)
    net = train(kv, train_iter, args.num_epochs, args.lr, devices, args.dtype, still_alive)
    if args.save and kv.rank == 0:
        net.save_parameters(args.save)
    still_alive()
    del kv  # Waits until all workers leave the job
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main()

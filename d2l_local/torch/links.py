"""PyTorch's devices and the links between them."""

from __future__ import annotations

import contextlib

from d2l_local.base.arguments import number_of_devices
from d2l_local.simulate import links
from d2l_local.torch.device import devices, num_gpus, synchronize
from d2l_local.torch.thread_stream import ThreadStream, finish

import torch


class Links(links.Links):
    __doc__ = (
        (links.Links.__doc__ or "")
        + """
    With fewer than ``k`` GPUs all numbers mean the CPU, which is one device to PyTorch. A message
    between two numbers is a copy also there. So that a number stands for one core, operators use
    one thread from then on, and each stage of a `pipeline` gets a thread.
    """
    )

    def _find(self, k):
        if num_gpus() >= number_of_devices(k):
            return devices(k)
        torch.set_num_threads(1)
        return [torch.device("cpu")] * k

    def _placed(self, x, i):
        x = torch.as_tensor(x, dtype=torch.float32).detach()
        return x.to(self.devices[i], copy=True)

    def _device(self, x):
        return x.device

    def _cut(self, x, start, stop, axis):
        return x.narrow(axis, start, stop - start)

    def _numpy(self, x):
        return x.detach().cpu().numpy()

    def _carry(self, x, i, j):
        # A leaf's gradient should come from its own device: PyTorch warns of one that comes from
        # the stream of another. A view is a node on the device of x.
        return _Carry.apply(x.view_as(x), self, i, j)

    def _copied(self, x, j):
        self.sent.append(x.nbytes)
        return x.detach().to(self.devices[j], copy=True)

    def _synchronize(self):
        synchronize()

    def _finish(self, i, x):
        if self.devices[i].type == "cuda":
            torch.cuda.synchronize(self.devices[i])

    def _at_once(self, calls):
        threads = [ThreadStream(f"stage {i}") for i in range(len(calls))]
        for i, (thread, call) in enumerate(zip(threads, calls)):
            thread.launch(self._with_streams, i, call)
        finish(threads)

    def _with_streams(self, i, call):
        """Call with a stream of this thread's own on each GPU.

        A copy takes part in the streams of both GPUs; in the receiver's own it would wait for
        what the receiver computes.
        """
        with contextlib.ExitStack() as streams:
            for device in self.devices:
                if device.type == "cuda":
                    streams.enter_context(torch.cuda.stream(torch.cuda.Stream(device)))
            if self.devices[i].type == "cuda":
                streams.enter_context(torch.cuda.device(self.devices[i]))
            call()


class _Carry(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, links, i, j):
        ctx.links, ctx.i = links, i
        return links._copied(x, j)

    @staticmethod
    def backward(ctx, head):
        return ctx.links._copied(head, ctx.i), None, None, None


def gradients(loss, arrays):
    """Return the gradients of ``loss()`` with respect to arrays, in lists nested as these are.

    Of several losses, such as one a device, it returns a list, and their sum is meant.
    """
    leaves = links.flat(arrays)
    for leaf in leaves:
        leaf.requires_grad_()
    found = iter(torch.autograd.grad(links.flat(loss()), leaves))
    return links.nested(lambda _: next(found), arrays)

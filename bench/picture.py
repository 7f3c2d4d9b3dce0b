"""Record the README's picture, img/timeline.svg: the same work with stock settings and with ours.

Unlike the drawings of draw.py this one is measured, so each run gives another picture.
"""

from pathlib import Path

import matplotlib

matplotlib.use("svg")

from d2l_local import mxnet as d2l

from matplotlib import pyplot as plt


def record():
    """Lanes of 20 products on each of two CPU cores."""
    from d2l_local import mxnet as d2l

    from mxnet import nd

    xs = [nd.random.uniform(shape=(1000, 1000), ctx=device) for device in d2l.devices(2)]
    for x in xs:
        nd.dot(x, x)
    with d2l.Timeline() as timeline:
        for x in xs:
            for _ in range(20):
                nd.dot(x, x)
    return timeline.lanes


def main() -> None:
    stock = d2l.Timeline(d2l.in_new_process(record, MXNET_CPU_TEMP_COPY=4))
    ours = d2l.Timeline(d2l.in_new_process(record))
    matplotlib.rcParams["svg.hashsalt"] = "timeline"  # No random ids
    figure, axes = plt.subplots(2, 1, figsize=(8, 3), sharex=True, layout="constrained")
    for ax, timeline, title in zip(axes, (stock, ours), ("MXNet's defaults", "with d2l_local")):
        timeline.plot(ax)
        ax.set_title(f"20 products on each of two cores, {title}", loc="left", fontsize=10)
        ax.label_outer()
    axes[1].get_legend().remove()
    figure.savefig(Path(__file__).parents[1] / "img/timeline.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()

"""What a training says of itself, also for TensorBoard.

The trace in the run folder is always written (training.py); this is an extra for those who like
curves. Next room: cli.
"""

from pathlib import Path

from targcn.errors import InputError
from targcn.files import explained
from targcn.training import Sign, Watch


def tensorboard_watch(folder: Path, also: Watch | None = None) -> Watch:
    """A watch that writes loss, speed and valid MRR under `folder`, and passes each sign on."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError("curves need TensorBoard: pip install 'targcn[tensorboard]'") from None
    writer: SummaryWriter | None = None

    def watch(sign: Sign) -> None:
        nonlocal writer
        if also is not None:
            also(sign)
        step = sign.epoch * sign.num_steps + sign.step
        values = {"queries_per_second": sign.queries_per_second}
        if sign.loss == sign.loss:
            values["loss"] = sign.loss
        elif sign.report is not None:
            for which, sides in sign.report.metrics.items():
                values[f"valid MRR, context train/{which}"] = sides["both"]["mrr"]
        with explained(folder):
            # Only now that training has begun: nothing is left beside a run that cannot go on.
            writer = writer or SummaryWriter(str(folder))
            for name, value in values.items():
                writer.add_scalar(name, value, step)
            writer.flush()

    return watch

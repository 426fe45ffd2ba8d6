"""Training curves for TensorBoard, an extra beside the trace in the run folder."""

from pathlib import Path

from targcn.errors import InputError
from targcn.files import explained
from targcn.training.progress import ProgressCallback, TrainingProgress


def write_curves(folder: Path, also: ProgressCallback | None = None) -> ProgressCallback:
    """A callback that writes loss, speed and valid MRR under `folder`, then calls another one."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError("curves need TensorBoard: pip install 'targcn[tensorboard]'") from None
    writer: SummaryWriter | None = None

    def write(progress: TrainingProgress) -> None:
        nonlocal writer
        if also is not None:
            also(progress)
        step = progress.epoch * progress.num_steps + progress.step
        values = {"queries_per_second": progress.queries_per_second}
        if progress.loss is not None:
            values["loss"] = progress.loss
        elif progress.validation is not None:
            context = progress.validation.setting.context
            for which, sides in progress.validation.metrics.items():
                values[f"valid MRR, context {context}/{which}"] = sides["both"]["mrr"]
        with explained(folder):
            # Opened once training has begun: a run that cannot start leaves nothing behind.
            writer = writer or SummaryWriter(str(folder))
            for name, value in values.items():
                writer.add_scalar(name, value, step)
            writer.flush()

    return write

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
        with explained(folder):
            # Opened once training has begun: a run that cannot start leaves nothing behind.
            writer = writer or SummaryWriter(str(folder))
            for name, value in progress.figures.items():
                writer.add_scalar(name, value, progress.steps_taken)
            writer.flush()

    return write

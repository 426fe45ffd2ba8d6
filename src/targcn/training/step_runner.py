"""How a training step is run: replayed where a GPU has recorded it, in parts if memory is short."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from targcn.devices import is_out_of_memory
from targcn.distributed import ProcessGroup
from targcn.models.base import Learner
from targcn.recipes.training_settings import TrainingSettings
from targcn.training.batches import Batch
from targcn.training.cuda_graph import CUDAGraphed


class StepRunner:
    """Runs a step that takes a batch and gives its loss.

    When memory runs out, the step is repeated in more parts; an update of the weights that was
    begun never is.
    """

    def __init__(
        self,
        step: Callable[[Batch], Tensor],
        model: Learner,
        settings: TrainingSettings,
        device: torch.device,
        processes: ProcessGroup,
        report_retry: Callable[[int], None],
    ) -> None:
        self.step, self.processes = step, processes
        self.batch_size, self.report_retry = settings.batch_size, report_retry
        self.matmul_precision = settings.matmul_precision
        # A batch is computed in this many parts: the same gradients in less memory.
        self.num_parts = 1
        # While weights change: what happens then cannot be repeated.
        self.is_updating = False
        self.replay: CUDAGraphed[Batch, Tensor] | None = None
        if device.type == "cuda" and model.has_static_shapes and processes.size == 1:
            self.replay = CUDAGraphed(step, device)

    def __call__(self, batch: Batch) -> Tensor:
        """Take the step; the loss of the batch."""
        while True:
            try:
                with matmul_precision(self.matmul_precision):
                    if self.replay is not None and self.is_whole(batch):
                        return self.replay(batch)
                    return self.step(batch)
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
                # Nor can one of several processes repeat what the others have done.
                repeatable = not self.is_updating and self.processes.size == 1
                if not (is_out_of_memory(error) and repeatable and self.num_parts < len(batch)):
                    raise
                self.num_parts *= 2
                if self.is_whole(batch):
                    self.replay = None
                self.report_retry(self.num_parts)

    def parts(self, batch: Batch) -> Iterator[Batch]:
        """The batch, in as many parts as memory wants."""
        size = -(-len(batch) // self.num_parts)
        for first in range(0, len(batch), size):
            yield batch[first : first + size]

    def is_whole(self, batch: Batch) -> bool:
        return len(batch) * self.processes.size == self.batch_size


@contextmanager
def matmul_precision(name: str) -> Iterator[None]:
    """Matrix products of this precision inside the block, and as before after it."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)

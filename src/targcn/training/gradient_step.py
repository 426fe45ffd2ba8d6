"""One step of the optimiser on a batch, in several parts where memory is short."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from targcn.devices import compiled, is_out_of_memory
from targcn.distributed import ProcessGroup, distributed_loss, is_sharded, own_rows
from targcn.models.base import Learner
from targcn.recipes.training_settings import TrainingSettings
from targcn.training.batches import Batch
from targcn.training.cuda_graph import CUDAGraphed


class GradientStep:
    """Gradients of a batch's loss, then one update of the weights.

    When memory runs out, the gradients are computed again in more parts; an update that was begun
    is never repeated.
    """

    def __init__(
        self,
        model: Learner,
        optimizer: torch.optim.Optimizer,
        settings: TrainingSettings,
        device: torch.device,
        processes: ProcessGroup,
        report_retry: Callable[[int], None],
    ) -> None:
        self.optimizer, self.device, self.processes = optimizer, device, processes
        self.weights, self.clip = optimizer.param_groups[0]["params"], settings.clip
        # Each with the rows of this process, which are what the optimiser updates.
        self.tables = [
            (table, own)
            for table, own in zip(model.parameters(), self.weights, strict=True)
            if is_sharded(table)
        ]
        self.batch_size, self.report_retry = settings.batch_size, report_retry
        self.matmul_precision = settings.matmul_precision
        # A batch is computed in this many parts: the same gradients in less memory.
        self.num_parts = 1
        self.loss = self.loss_of_last = distributed_loss(model, processes)
        if settings.compile and not self.tables:
            # Models share a loss function, of which torch compiles a few variants and no more.
            torch.compiler.reset()
            self.loss = compiled(self.loss, instead=self.loss, dynamic=False)
        # Set while weights change: what happens then cannot be repeated. (While a CUDA graph is
        # recorded, nothing happens yet.)
        self.is_updating = False
        self.replay: CUDAGraphed[Batch, Tensor] | None = None
        if device.type == "cuda" and model.has_static_shapes and processes.size == 1:
            self.replay = CUDAGraphed(self._take, device)

    def __call__(self, batch: Batch) -> Tensor:
        """Take the step; the loss of the batch."""
        while True:
            try:
                with matmul_precision(self.matmul_precision):
                    if self.replay is not None and self._is_whole(batch):
                        return self.replay(batch)
                    return self._take(batch)
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
                # Nor can one of several processes repeat what the others have done.
                repeatable = not self.is_updating and self.processes.size == 1
                if not (is_out_of_memory(error) and repeatable and self.num_parts < len(batch)):
                    raise
                self.num_parts *= 2
                if self._is_whole(batch):
                    self.replay = None
                self.report_retry(self.num_parts)

    def _take(self, batch: Batch) -> Tensor:
        loss = self.compute_gradients(batch)
        if self.clip is not None:
            self._clip_gradients(self.clip)
        on_gpu = self.device.type == "cuda"
        self.is_updating = not (on_gpu and torch.cuda.is_current_stream_capturing())
        self.optimizer.step()
        self.is_updating = False
        return loss

    def compute_gradients(self, batch: Batch) -> Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        total = torch.zeros((), device=self.device)
        size = -(-len(batch) // self.num_parts)
        # Compiling for the smaller last batch would take longer than it saves.
        loss_function = self.loss if self._is_whole(batch) else self.loss_of_last
        for first in range(0, len(batch), size):
            part = batch[first : first + size]
            loss = loss_function(part.queries, part.answers, part.sample, part.others)
            loss = loss * (len(part) / len(batch) * batch.weight)
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.detach()
        for table, own in self.tables:
            if table.grad is not None:
                # The mean over processes, as of all other weights.
                own.grad, table.grad = own_rows(table.grad).div_(self.processes.size), None
        return total

    def _clip_gradients(self, most: float) -> None:
        if not self.tables:
            nn.utils.clip_grad_norm_(self.weights, most)
            return
        in_tables = {id(own) for _, own in self.tables}
        own = [one.grad for _, one in self.tables if one.grad is not None]
        other = [
            one.grad for one in self.weights if one.grad is not None and id(one) not in in_tables
        ]
        of_tables = self.processes.sum(nn.utils.get_total_norm(own).cpu().square()).sqrt()
        norms = [nn.utils.get_total_norm(other), of_tables.to(self.device)]
        norm = torch.stack(norms).norm()
        nn.utils.clip_grads_with_norm_(self.weights, most, norm)

    def _is_whole(self, batch: Batch) -> bool:
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

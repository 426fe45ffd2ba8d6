"""What the server counts, for Prometheus; each is counted where it happens."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

REQUESTS: Final = Counter(
    "targcn_requests", "Requests, by address and status.", ("route", "status")
)
SECONDS: Final = Histogram(
    "targcn_request_seconds", "Seconds from a request to the end of its answer."
)
IN_FLIGHT: Final = Gauge("targcn_requests_in_flight", "Requests being answered now.")
QUESTIONS: Final = Counter(
    "targcn_questions", "Questions answered; explanations and what-ifs count as one.", ("run",)
)
BATCHES: Final = Counter("targcn_batches", "Batches in which they were answered.", ("run",))
REFUSED: Final = Counter(
    "targcn_refused", "Requests refused because too many questions waited.", ("run",)
)
WAITING: Final = Gauge(
    "targcn_questions_waiting", "Questions that wait or are being answered.", ("run",)
)

"""What Prometheus reads."""

import re

from small_server import Here
from targcn.serve.metrics import BOUNDS, Metrics

LINE = re.compile(r'[a-z_]+(\{[a-z]+="(\\.|[^"\\])*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+]+')


def test_every_line_has_its_form(here: Here) -> None:
    here.ask("GET", "/nothing/at/all")
    body = {"run": "copy", "questions": [{"subject": "plain", "relation": "r0", "time": "1970"}]}
    here.ask("POST", "/api/predict", body)
    answer = here.ask("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.body.decode().splitlines()
    for line in lines:
        assert line.startswith(("# HELP ", "# TYPE ")) or LINE.fullmatch(line), line
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    # Addresses that clients think up do not become labels.
    assert int(values['targcn_requests_total{route="other",status="404"}']) >= 1
    assert int(values['targcn_requests_total{route="/api/predict",status="200"}']) >= 1
    assert int(values['targcn_questions_total{run="copy"}']) >= 1
    assert float(values["process_resident_memory_bytes"]) > 1e6


def test_buckets_add_up() -> None:
    metrics = Metrics()
    for seconds in (0.001, 0.005, 0.2, 99):
        metrics.count_request("/a", 200, seconds)
    text = metrics.in_text([])
    counts = [int(one) for one in re.findall(r'le="[^"]+"\} (\d+)', text)]
    assert len(counts) == len(BOUNDS) + 1
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (2, 4)

"""What Prometheus reads."""

from prometheus_client.parser import text_string_to_metric_families

from small_server import Here


def test_what_is_counted(here: Here) -> None:
    here.ask("GET", "/nothing/at/all")
    body = {"run": "copy", "questions": [{"subject": "plain", "relation": "r0", "time": "1970"}]}
    here.ask("POST", "/api/predict", body)
    answer = here.ask("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    values = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.body.decode())
        for sample in family.samples
    }
    # Addresses that clients think up do not become labels.
    assert values["targcn_requests_total", "other", "404"] >= 1
    assert values["targcn_requests_total", "/api/predict", "200"] >= 1
    assert values["targcn_questions_total", "copy"] >= 1
    assert values["targcn_questions_waiting", "copy"] >= 0
    assert values["targcn_request_seconds_count",] >= 2
    assert values["targcn_requests_in_flight",] >= 1

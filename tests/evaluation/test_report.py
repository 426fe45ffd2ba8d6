"""Settings in words, and reports as tables."""

from fake_model import WORLD, report_of, row_alike
from targcn.evaluation.metrics import METRICS
from targcn.evaluation.report import Setting, relation_table, report_table


def test_a_setting_says_what_was_evaluated() -> None:
    words = str(Setting("valid", "train", "optimistic"))
    assert words == "valid split, context train, optimistic rank on ties"


def test_a_report_has_a_row_per_filter_and_side_and_a_column_per_metric() -> None:
    report = report_of(WORLD, row_alike(0.0, 5.0, 9.0, 5.0))
    table = report_table(report)
    assert table.title == f"fake on world: 4 queries, {report.setting}"
    assert [(row["filter"], row["side"]) for row in table.rows[:4]] == [
        ("raw", "both"), ("", "object"), ("", "subject"), ("static", "both"),
    ]  # fmt: skip
    for metric in METRICS:
        assert table.rows[3][metric.key] == report.metrics["static"]["both"][metric.key]
        assert metric.label in table.labels


def test_relations_are_listed_by_how_often_they_are_asked_for() -> None:
    table = relation_table(report_of(WORLD, row_alike(0.0, 5.0, 9.0, 5.0)))
    [row] = table.rows
    assert (row["relation"], row["num_queries"]) == ("r0", 4)
    assert row["static"] == 0.6625

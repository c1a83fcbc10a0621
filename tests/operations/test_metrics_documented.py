"""The page for operations names every series that is exposed, with its labels, and no other."""

import re

import pytest
from prometheus_client.core import Metric

from apps.launcher.data_folders import PROJECT
from apps.operations.metrics import DATABASE_UP, GAUGES, InstallationCollector
from apps.telemetry import product_metrics
from apps.telemetry.prometheus import NAMESPACE, REGISTRY, CappedLabels

PAGE = PROJECT / "docs" / "operations.md"
# A series as the page writes it, in its table and in the conditions of alerts: `name{label,label}` or `name{label="value"}`.
SERIES = re.compile(r"`([a-z_]+)(?:\{([^}`]*)\})?`")


def exposed_series() -> dict[str, frozenset[str]]:
    """Every series by its name, with its labels; those of the database without the tenant, which a setting adds."""
    found = {_name_of(family): frozenset[str]() for family in REGISTRY.collect()}
    for each in vars(product_metrics).values():
        if isinstance(each, CappedLabels):
            found |= {_name_of(family): frozenset(each.names) for family in each.metric.describe()}
    return found | {name: frozenset({label}) for name, (_, _, label) in GAUGES.items()} | {DATABASE_UP: frozenset()}


def _name_of(family: Metric) -> str:
    name = family.name.removeprefix(f"{NAMESPACE}_")
    return f"{name}_total" if family.type == "counter" else name


def documented_series(page: str) -> list[tuple[str, frozenset[str]]]:
    """Series as a page writes them: those with labels, and those that end as series of counts and durations do."""
    return [
        (name, frozenset(each.partition("=")[0].rstrip("~!") for each in labels.split(",") if each))
        for name, labels in SERIES.findall(page)
        if labels or name.endswith(("_total", "_seconds")) or name in exposed_series()
    ]


def table() -> str:
    """The first column of the page's table."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("### Metrics\n")
    rows = [line for line in rest.partition("## Alerts\n")[0].splitlines() if line.startswith("| `")]
    return "\n".join(row.split("|")[1] for row in rows)


def test_every_series_has_a_line_with_its_labels() -> None:
    assert dict(documented_series(table())) == exposed_series()


def test_conditions_of_alerts_and_advice_name_series_and_labels_that_are_exposed() -> None:
    series = exposed_series()
    found = documented_series(PAGE.read_text(encoding="utf-8"))
    assert len(found) > len(series)
    assert [(name, labels) for name, labels in found if name not in series or not labels <= series[name]] == []


def test_a_series_or_a_label_that_is_not_exposed_is_caught() -> None:
    [gone, other] = documented_series('`tasks_failed_total` grows, `waiting{queue="turns"}` above 60')
    assert gone[0] not in exposed_series()
    assert not other[1] <= exposed_series()[other[0]]


@pytest.mark.django_db
def test_what_the_database_says_has_the_names_of_the_table() -> None:
    found = {_name_of(family): family for family in InstallationCollector().collect()}
    assert found.keys() == {*GAUGES, DATABASE_UP}
    labels = {name: {label for sample in family.samples for label in sample.labels} for name, family in found.items()}
    assert all(each <= exposed_series()[name] for name, each in labels.items())

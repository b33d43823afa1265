"""The Grafana dashboard of pipelines; `python docker/make_dashboard.py` writes grafana/dashboards/stream-bayes.json.

Grafana of the compose file loads it. For another Grafana, import the file and choose its Prometheus.
"""

from __future__ import annotations

from pathlib import Path

from grafana_foundation_sdk.builders.common import VizLegendOptions
from grafana_foundation_sdk.builders.dashboard import (
    Dashboard,
    DatasourceVariable,
    QueryVariable,
    Row,
    ThresholdsConfig,
)
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.builders.stat import Panel as Stat
from grafana_foundation_sdk.builders.timeseries import Panel as Curve
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement
from grafana_foundation_sdk.models.dashboard import DataSourceRef, Threshold, ThresholdsMode

TARGET = Path(__file__).parent / "grafana" / "dashboards" / "stream-bayes.json"
PROMETHEUS = DataSourceRef(type_val="prometheus", uid="$prometheus")
OF = '{pipeline=~"$pipeline"}'
GREEN, ORANGE, RED = "green", "orange", "red"


def query(expression: str, legend: str = "{{pipeline}}") -> Dataquery:
    """Return a query whose metrics are those of the chosen pipelines: `OF` stands for them."""
    return Dataquery().expr(expression.replace("OF", OF)).legend_format(legend).datasource(PROMETHEUS)


def thresholds(*steps: tuple[float | None, str]) -> ThresholdsConfig:
    """Return colours from each value on."""
    found = [Threshold(value=value, color=colour) for value, colour in steps]
    return ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(found)


def figure(title: str, expression: str, unit: str, colours: ThresholdsConfig, text: str) -> Stat:
    """Return a panel with one number."""
    panel = Stat().title(title).description(text).datasource(PROMETHEUS).unit(unit).thresholds(colours)
    return panel.span(4).height(4).with_target(query(expression))


def curve(title: str, unit: str, text: str, *targets: Dataquery) -> Curve:
    """Return a panel with curves."""
    legend = (
        VizLegendOptions()
        .display_mode(LegendDisplayMode.LIST)
        .placement(LegendPlacement.BOTTOM)
        .show_legend(True)
    )
    panel = (
        Curve()
        .title(title)
        .description(text)
        .datasource(PROMETHEUS)
        .unit(unit)
        .legend(legend)
        .span(12)
        .height(8)
    )
    for target in targets:
        panel.with_target(target)
    return panel


def dashboard() -> str:
    """Return the dashboard as JSON."""
    anything = thresholds((None, GREEN))
    made = (
        Dashboard("Streams that learn")
        .uid("stream-bayes")
        .description("Throughput, lag, accuracy, dead letters, snapshots and drifts of stream_bayes pipelines.")
        .tags(["stream_bayes"])
        .refresh("10s")
        .time("now-1h", "now")
        .readonly()
        .with_variable(DatasourceVariable("prometheus").label("Prometheus").type("prometheus"))
        .with_variable(
            QueryVariable("pipeline")
            .label("Pipeline")
            .datasource(PROMETHEUS)
            .query("label_values(stream_bayes_ready, pipeline)")
            .multi(True)
            .include_all(True)
        )
        .with_row(Row("Now"))
        .with_panel(figure("Ready", "stream_bayes_readyOF", "bool_yes_no", thresholds((None, RED), (1, GREEN)),
                           "The engine reads, and its snapshots are written."))
        .with_panel(figure("Records", "rate(stream_bayes_records_totalOF[1m])", "reqps", anything, "Records a second."))
        .with_panel(figure("Lag", "sum by (pipeline) (stream_bayes_lagOF)", "short",
                           thresholds((None, GREEN), (10_000, ORANGE), (100_000, RED)), "Positions behind the end."))
        .with_panel(figure("Accuracy", "stream_bayes_accuracyOF", "percentunit", anything, "Fading mean."))
        .with_panel(figure("Dead letters", "sum by (pipeline) (increase(stream_bayes_dead_letters_totalOF[1h]))",
                           "short",
                           thresholds((None, GREEN), (1, ORANGE)), "In the last hour."))
        .with_panel(figure("Newest snapshot", "stream_bayes_snapshot_age_secondsOF", "s",
                           thresholds((None, GREEN), (300, ORANGE), (900, RED)), "Its age."))
        .with_row(Row("The model"))
        .with_panel(curve("Accuracy", "percentunit", "Share of correct predictions, fading.",
                          query("stream_bayes_accuracyOF")))
        .with_panel(curve("Log-loss", "short", "Nats an event, fading.", query("stream_bayes_log_lossOF")))
        .with_panel(curve("Drift log", "short", "Entries by kind, in five minutes.",
                          query("sum by (what) (increase(stream_bayes_drift_events_totalOF[5m]))", "{{what}}")))
        .with_panel(curve("Generation", "short", "Number of times that the model was replaced.",
                          query("stream_bayes_model_generationOF")))
        .with_row(Row("The stream"))
        .with_panel(curve("Records and samples", "reqps", "Records read, and samples learned, a second.",
                          query("rate(stream_bayes_records_totalOF[1m])", "{{pipeline}} records"),
                          query("rate(stream_bayes_samples_learned_totalOF[1m])", "{{pipeline}} learned")))
        .with_panel(curve("Lag by partition", "short", "Positions behind the end.",
                          query("stream_bayes_lagOF", "{{source}} {{partition}}")))
        .with_panel(curve("Latency", "s", "From the time of a record to the commit of its result.",
                          *(query(f"histogram_quantile({q}, sum by (le, pipeline) "
                                  "(rate(stream_bayes_latency_seconds_bucketOF[5m])))",
                                  f"{{{{pipeline}}}} p{round(100 * q)}")
                            for q in (0.5, 0.99))))
        .with_panel(curve("Dead letters by reason", "short", "In five minutes.",
                          query("sum by (reason) (increase(stream_bayes_dead_letters_totalOF[5m]))", "{{reason}}")))
        .with_panel(curve("Late labels by outcome", "short", "In five minutes.",
                          query("sum by (outcome) (increase(stream_bayes_labels_totalOF[5m]))", "{{outcome}}")))
        .with_panel(curve("Samples without a label", "short", "Waiting for it.", query("stream_bayes_waitingOF")))
    )  # fmt: skip
    return JSONEncoder(sort_keys=True, indent=2).encode(made.build()) + "\n"


if __name__ == "__main__":
    TARGET.write_text(dashboard(), encoding="utf-8")

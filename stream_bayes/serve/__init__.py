"""The service over a running pipeline: predictions, evidence, labels, history and a page over HTTP.

    engine's process                        service's process
    `launch`    starts the other one        `__main__`    receives, and runs the server
    `handover`  status, events, views  -->  `status_board` what is shown, bounded; its followers
    `labels`    to the log or topic    <--  `app`         routes, behind the guard of `door`
    `channel`   messages between them       `views`       two copies of the model; `restoring` makes them

`model_answers` answers for a model of labels, as to POST /v1/predict, `regressor_answers` for one of numbers,
`event_model_answers` for one of events without either. `bodies` and `openapi` describe requests, `plain_values` are
values as JSON, `evaluation_json` has measures so, `metrics` has figures for Prometheus. `event_history` keeps the
newest events, for `feature_drifts`, `threshold_costs` and `surprises`; `event_stream` sends them on.

`replica` follows without an engine what is `followed`: snapshots, a saved model, a topic; `compared` serves a
comparison. `graphs` places what the page draws; it shows `other_services` by their `service_client`, and
`static_report` writes it to a file.
"""

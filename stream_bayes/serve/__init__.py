"""The service over a running pipeline: predictions, evidence, labels, history and a page over HTTP.

    engine's process                        service's process
    `launch`    starts the other one        `__main__`    receives, and runs the server
    `handover`  status, events, views  -->  `board`       what is shown, bounded; its followers
    `labels`    to the log or topic    <--  `app`         routes, behind the `guard`
    `channel`   messages between them       `views`       copies of the model that answer; `restoring` makes them

`number_views` has the copies of models whose labels are numbers. `replica` follows snapshots without an engine.
`server` is the HTTP server with its limits, `problems` the refusals, `bodies` and `openapi` describe requests, `mails`
learns for a filter of its own directory, `metrics` has figures for Prometheus. `page` holds the static files of the
page.
"""

"""The state of River's objects, and of whole pipelines around a learner, without pickle.

`model_state` returns the state of a model and restores it. `registry` maps each class to its codec, which lists the
attributes of its objects in terms of `codecs` (a codec for each kind of value). The classes stand in `composition`,
`transformers`, `statistics`, `metrics`, `detectors`, `drift_learners` and `adaptive_learners`. `compiled_objects` reads
River's compiled objects, `parameters` compares configurations, and `location` is a place in a model, for errors.
`catalogue` has transformers and detectors by the names that pipeline files use; `drift_logs` reads drift from a state.
"""

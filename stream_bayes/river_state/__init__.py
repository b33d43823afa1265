"""The state of River's objects, and of whole pipelines around a learner, without pickle.

`pipelines` takes the state of a model and gives it back; `registry` knows for each of River's classes what its objects
hold, which `transformers`, `statistics`, `metrics` and `detectors` say class by class in terms of `kinds`.
"""

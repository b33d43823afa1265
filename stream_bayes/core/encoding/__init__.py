"""An event to codes. Learning may create codes; predicting only looks them up.

    x = {"sky": "grey", "wind": 3.5}, y = "rain"
      |  _features   names and numbers (_bags: bags of words), with a _vocabulary for each name and _bins for numbers
      v
    Row (_rows)      feature [0] code [4] | numeric_feature [0] number [3.5] | label 1, weight 1.0

Encoding is all or nothing: a fault in an event is found here, and the codes created on the way are removed. A number
near the edge of its bin carries the share of the neighbouring bin, which predictions use and learning ignores.
`_prefetch` touches the cells of the next rows early.
"""

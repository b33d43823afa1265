"""Structures derived from counts, for readings that have some.

`_information` counts how much features tell of the class and of one another, `named_features` orders them by name,
`_tan_and_kdb` spans trees and chooses parents, and `deriving_schedule` says after how many events a structure is
derived anew.
"""

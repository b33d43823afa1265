"""What a value is: names and numbers, how they are checked, compared and written as JSON."""

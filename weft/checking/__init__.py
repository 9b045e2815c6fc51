"""Does a model do what weft says of every model? Each check is a small function that measures a difference."""

"""python -m weft"""

from weft.commands import run

run()

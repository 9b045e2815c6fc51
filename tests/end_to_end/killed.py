"""`weft` with a bullet in it: python -m tests.end_to_end.killed WORD N train …

It ends by SIGKILL when it opens, renames, makes or removes a file with this word in its path for the n-th time.
"""

import os
import signal
import sys
from itertools import count

TOUCHES = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"}

word, n = sys.argv[1], int(sys.argv[2])
touched = count(1)


def pull_the_trigger(event: str, given: tuple[object, ...]) -> None:
    if event in TOUCHES and any(word in str(path) for path in given[:2]) and next(touched) == n:
        os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(pull_the_trigger)

from weft.commands import run  # noqa: E402

run(sys.argv[3:])

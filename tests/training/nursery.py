"""Serve trainers: read an order a line, fork a process that runs one step, report pids and exit codes."""

import json
import os
import sys
import traceback

import captionlab.steps.train_run  # noqa: F401  (imported before the forks, so that each starts at once)
from captionlab.__main__ import main


def be_a_trainer(arguments: list[str], log: str) -> None:
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    code = 1
    try:
        code = main(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


for line in sys.stdin:
    order = json.loads(line)
    if "wait" in order:
        answer = os.waitstatus_to_exitcode(os.waitpid(order["wait"], 0)[1])
    else:
        answer = os.fork()
        if answer == 0:
            be_a_trainer(order["arguments"], order["log"])
    print(answer, flush=True)

"""The commands: demo, and on files of data fit, predict, inspect, report."""

#: Exit codes of all commands.
DONE, FAILED, WRONG_COMMAND, WRONG_DATA, INTERRUPTED = 0, 1, 2, 3, 130

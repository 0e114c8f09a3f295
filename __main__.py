"""`python -m ssql`: the same as the `ssql` command."""

from ssql.cli import entry

entry()
